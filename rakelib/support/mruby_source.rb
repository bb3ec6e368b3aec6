# frozen_string_literal: true

require_relative "debian_source"
require_relative "mruby_build"

# mruby out of Debian's source package, with the mrbgem in it as a user's own build has it:
# test/mruby/long/build_config.rb.
class MRubySource
  CONFIG = "#{MRubyBuild::ROOT}/test/mruby/long/build_config.rb"
  FOLDER = "#{MRubyBuild::ROOT}/tmp/mruby/long"

  # @return [String] the interpreter
  # @raise [Godwit::DebianSource::Failure] no network, a tool missing
  # @raise [MRubyBuild::Failure] no mruby on this system
  def build
    raise MRubyBuild::Failure, MRubyBuild.missing if MRubyBuild.missing
    env = {
      "MRUBY_CONFIG" => CONFIG, "MRUBY_BUILD_DIR" => FOLDER, "INSTALL_DIR" => "#{FOLDER}/bin",
      "MRBC" => Godwit::DebianSource.run("sh", "-c", "command -v mrbc").chomp
    }
    Godwit::DebianSource.run(
      "env", *env.map { |name, value| "#{name}=#{value}" }, "rake", "-j#{Etc.nprocessors}", "all",
      chdir: source
    )
    "#{FOLDER}/host/bin/mruby"
  end

  private

  # @return [String] folder of the source
  def source
    kept = Godwit::DebianSource.keep("mruby-source-#{MRubyBuild.version}") do |folder, result|
      # Moved, because a copy is younger: the build would make the parser anew, with bison.
      FileUtils.mv(Godwit::DebianSource.fetch("mruby", folder), "#{result}/mruby")
    end
    "#{kept}/mruby"
  end
end
