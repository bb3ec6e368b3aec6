# frozen_string_literal: true

require "test_helper"
require "support/network"

# A name server that does not answer delays only the I/O thread of the connection that needs the
# name (ADR 33).
class NameServerTest < Godwit::TestCase
  # A lookup takes two and a half minutes, longer than the test.
  RESOLVER = "nameserver 127.0.0.53\noptions timeout:30 attempts:5\n"
  PRELUDE = <<~RUBY
    require "godwit"
    require "socket"
    PULL = Godwit::PULL.bind("tcp://127.0.0.1:*", context: Godwit::Context.new)
    SERVER = UDPSocket.new.tap { |server| server.bind("127.0.0.53", 53) }
    def silent(**options)
      Godwit::PUSH.connect("tcp://silent.example:5555", linger: 0, **options)
      SERVER.recvfrom(512) # libzmq waits for the answer now
    end
    def other(**options) = Godwit::PUSH.connect(PULL.last_endpoint, linger: 0, **options) << "x"
    def arrived = PULL.recv(timeout: 20) == "x" || abort("something else arrived")
  RUBY

  def assert_in_silence(program)
    skip Godwit::TestSupport::Network.missing if Godwit::TestSupport::Network.missing
    file = File.join(scratch_dir, "resolv.conf")
    File.write(file, RESOLVER)
    start = "ip link set lo up && mount --bind #{file} /etc/resolv.conf && exec \"$@\""
    result = start_command(
      ["unshare", *("--map-root-user" unless Process.uid.zero?), "--net", "--mount", "sh", "-c",
        start, "sh", RbConfig.ruby, "-Ilib", "-e", "#{PRELUDE}#{program}\nputs 'done'; exit"],
      deadline: 30
    ).finish
    assert_equal ["done\n", ""], [result.stdout, result.stderr], result.to_s
  end

  {"in a context" => ["context: Godwit::Context.new", ""],
   "on an I/O thread" => ["context: C, affinity: 0b10", "context: C, affinity: 0b01"]}
    .each do |where, (silent, other)|
    test "#{where} of its own it holds no other connection" do
      assert_in_silence(<<~RUBY)
        C = Godwit::Context.new(io_threads: 2)
        silent(#{silent})
        other(#{other})
        arrived
      RUBY
    end
  end
end
