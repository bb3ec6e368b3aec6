# frozen_string_literal: true

# `rake mruby:long` builds mruby with it, out of Debian's source package: the mrbgem as a user's own
# build has it, with AddressSanitizer and a collection at each allocation.
MRuby::Lockfile.disable # it would stand beside this file

MRuby::Build.new do |conf|
  conf.toolchain :gcc
  conf.enable_sanitizer "address"
  conf.cc.defines << "MRB_GC_STRESS"
  conf.cc.flags << "-O1"
  conf.gem File.expand_path("../../../mruby", __dir__) # first: it names the gems that it needs
  %w[stdlib stdlib-ext stdlib-io math metaprog].each { |name| conf.gembox name }
  conf.gem core: "mruby-bin-mruby"
  # Debian's: another build of the compiler would take half of the time.
  conf.mrbcfile = ENV.fetch("MRBC")
end
