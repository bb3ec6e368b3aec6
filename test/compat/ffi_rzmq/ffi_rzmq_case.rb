# frozen_string_literal: true

require "test_helper"

# Runs programs that were written for ffi-rzmq.
class FFIRzmqCase < Godwit::TestCase
  JRUBY_HELPER = File.expand_path("../../../rakelib/support/jruby.rb", __dir__)
  require JRUBY_HELPER if File.exist?(JRUBY_HELPER)

  NO_JRUBY = defined?(Godwit::JRuby) ? Godwit::JRuby.missing : "this checkout has no JRuby"

  # Runtime => why it is missing; nil: it is present. A short run tests only the C extension.
  RUNTIMES =
    Godwit::TestSupport::Length.of(
      {native: nil}, long: {native: nil, ffi: nil, jruby: NO_JRUBY}
    ).freeze

  LAYER = "-rgodwit/compat/ffi_rzmq"

  # Starts a program for ffi-rzmq, with the gem (:gem) or through the layer.
  # @param on [Symbol] :gem, or one of {RUNTIMES}
  def start_old(program, args = [], on:)
    source = program.include?("\n") ? ["-e", program] : [program]
    command, env =
      case on
      when :gem
        [[RbConfig.ruby, "-rbundler/setup"], {}]
      when :native, :ffi
        [[RbConfig.ruby, "-Ilib", "-rbundler/setup", LAYER], {"GODWIT_BACKEND" => on.to_s}]
      when :jruby
        [
          Godwit::JRuby.command("-Ilib", LAYER, java: Godwit::JRuby.short),
          {**Godwit::JRuby::ENVIRONMENT, "GODWIT_BACKEND" => nil}
        ]
      end
    start_command([*command, *source, *args.map(&:to_s)], env: env)
  end

  # @return [Result] the result of the program
  def run_old(program, args = [], on:)
    start_old(program, args, on: on).finish
  end
end
