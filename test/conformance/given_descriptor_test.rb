# frozen_string_literal: true

# libzmq: test_use_fd

require "test_helper"
require_relative "assertions"

# `use_fd`, an already listening socket: libzmq would end the process on a bad descriptor, so a
# child process tries them.
class GivenDescriptorTest < Godwit::TestCase
  include Conformance::Assertions

  BAD = {
    "no open descriptor" => ["777", "is no open socket"],
    "a file" => ["(keep = File.open('/dev/null')).fileno", "is no open socket"],
    "a socket that does not listen" => [
      "(keep = Socket.new(:INET, :STREAM)).fileno", "does not listen"
    ],
    "a connected socket" => [
      "(server = TCPServer.new('127.0.0.1', 0); keep = TCPSocket.new('127.0.0.1', " \
      "server.local_address.ip_port)).fileno",
      "does not listen"
    ],
    "a UDP socket" => ["(keep = UDPSocket.new).fileno", "is no stream socket"],
    "a UNIX socket for tcp" => ["(keep = UNIXServer.new(ARGV[0])).fileno", "is of another family"]
  }.freeze

  def setup
    super
    not_on :ffi, "it has no use_fd"
  end

  BAD.each do |what, (descriptor, says)|
    test what do
      result = assert_child run_child(<<~RUBY, ["#{scratch_dir}/socket"])
        require "godwit"
        require "socket"
        number = #{descriptor}
        pull = Godwit::PULL.new(use_fd: number)
        begin
          pull.bind("tcp://127.0.0.1:*")
        rescue Godwit::OptionError => error
          puts error.message, error.operation, pull.endpoints.size, pull.use_fd == number
        end
        pull.use_fd = nil
        pull.bind("tcp://127.0.0.1:*")
        Godwit::PUSH.connect(pull.last_endpoint) << "hello"
        puts pull.recv(timeout: 5)
      RUBY
      assert_match(
        /use_fd\ takes\ the\ descriptor\ of\ a\ stream\ socket\ that\ is\ bound\ and\ listens.*:
          \ \d+\ (?-x:#{says})\nbind\n0\ntrue\nhello\n/x,
        result.stdout
      )
    end
  end

  test "a valid descriptor, bound twice and by two sockets: libzmq gets duplicates, the original " \
    "stays open" do
    result = assert_child run_child(<<~RUBY)
      require "godwit"
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      first = Godwit::PULL.bind("tcp://127.0.0.1:*", use_fd: server.fileno)
      second = Godwit::PULL.bind("tcp://127.0.0.1:*", use_fd: server.fileno)
      first.bind("tcp://127.0.0.1:*", "inproc://other")
      puts [first, second].map(&:port).uniq == [server.local_address.ip_port],
           first.use_fd == server.fileno
      Godwit::PUSH.connect("inproc://other") << "inproc"
      puts first.recv(timeout: 5)
      Godwit::PUSH.connect(second.last_endpoint) << "hello"
      message = nil # either may have taken the connection
      message ||=
        [first, second].map { |pull| pull.recv(timeout: 0.05, exception: false) }
          .compact
          .first until message
      puts message
      Godwit.context.close
      puts server.closed?, server.stat.socket?
    RUBY
    assert_equal "true\ntrue\ninproc\nhello\nfalse\ntrue\n", result.stdout
  end

  test "a UNIX socket for ipc" do
    server = UNIXServer.new("#{scratch_dir}/socket")
    pull = open_socket(:PULL, use_fd: server.fileno).bind("ipc://#{scratch_dir}/socket")
    assert_flows(open_socket(:PUSH).connect(pull.last_endpoint), pull)
  ensure
    server&.close
  end
end
