# frozen_string_literal: true

require "test_helper"
require "json"
require "support/ports"

# The gem iruby, Jupyter's kernel for Ruby, on Godwit: docs/ffi-rzmq.md. rake iruby runs it.
class IRubyKernelTest < Godwit::TestCase
  deadline 120

  CLIENT = File.expand_path("jupyter.py", __dir__)
  PYTHON = "/usr/bin/python3"
  CODE = <<~'RUBY'
    puts "ZMQ is Godwit's: #{ZMQ::Socket.method_defined?(:godwit)}"
    6 * 7
  RUBY

  def connection_file
    first = Godwit::TestSupport::Ports.free(5)
    shell, iopub, stdin, heartbeat, control = Array.new(5) { |index| first + index }
    path = "#{scratch_dir}/kernel.json"
    File.write(path, JSON.generate(
      transport: "tcp", ip: "127.0.0.1", key: "secret", signature_scheme: "hmac-sha256",
      shell_port: shell, iopub_port: iopub, stdin_port: stdin, hb_port: heartbeat,
      control_port: control
    ))
    path
  end

  test "a kernel echoes heartbeats, runs code, publishes its output, and ends when asked" do
    path = connection_file
    kernel = start_command(
      [RbConfig.ruby, "-Ilib", "-rbundler/setup", "-rgodwit/compat/ffi_rzmq", "-S", "iruby",
        "kernel", path]
    )
    client = assert_child(start_command([PYTHON, CLIENT, path, CODE]).finish)
    # Omits lines that IRB and RubyGems print themselves.
    assert_equal <<~TEXT, client.stdout.lines.grep_v(/\Astream (?!ZMQ)/).join
      heartbeat ping
      implementation iruby
      stream ZMQ is Godwit's: true
      result 42
      execute_reply ok
      shutdown_reply
    TEXT
    result = assert_child(kernel.finish)
    refute_match(/FATAL|died/, result.to_s)
  end
end
