# frozen_string_literal: true

# `rake mruby:long` builds Debian's mruby with this file: the mrbgem as in a user's own build, with
# AddressSanitizer and a collection at each allocation.
MRuby::Lockfile.disable # the lock file would be written into this folder

MRuby::Build.new do |conf|
  conf.toolchain :gcc
  conf.enable_sanitizer "address"
  conf.cc.defines << "MRB_GC_STRESS"
  conf.cc.flags << "-O1"
  conf.gem File.expand_path("../../../mruby", __dir__) # first: it declares the gems that it needs
  %w[stdlib stdlib-ext stdlib-io math metaprog].each { |name| conf.gembox name }
  conf.gem core: "mruby-bin-mruby"
  # Debian's mrbc: a build of mrbc would take half of the time.
  conf.mrbcfile = ENV.fetch("MRBC")
end
