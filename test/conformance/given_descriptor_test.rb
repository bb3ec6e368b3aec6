# frozen_string_literal: true

# libzmq: test_use_fd

require_relative "case"

# The option `use_fd` accepts a listening descriptor. libzmq ends the process on an invalid one, so
# a child process tries invalid descriptors.
class GivenDescriptorTest < Conformance::Case
  def setup
    super
    not_on :ffi, "it has no use_fd"
  end

  test "a descriptor of another kind is refused, and the socket stays usable" do
    result = assert_child run_child(<<~'RUBY', ["#{scratch_dir}/socket"])
      require "godwit"
      require "socket"
      server = TCPServer.new("127.0.0.1", 0)
      {
        nil => "is no open socket", File.open("/dev/null") => "is no open socket",
        Socket.new(:INET, :STREAM) => "does not listen",
        TCPSocket.new("127.0.0.1", server.local_address.ip_port) => "does not listen",
        UDPSocket.new => "is no stream socket",
        UNIXServer.new(ARGV[0]) => "is of another family"
      }.each do |io, words|
        number = io&.fileno || 777
        pull = Godwit::PULL.new(use_fd: number)
        begin
          pull.bind("tcp://127.0.0.1:*")
          abort "#{io.inspect} was accepted"
        rescue Godwit::OptionError => error
          text = "use_fd takes the descriptor of a stream socket that is bound and listens"
          abort error.message unless error.message.match?(/#{text}.*: #{number} #{words}\z/)
          state = [error.operation, pull.endpoints, pull.use_fd]
          abort state.inspect unless state == [:bind, [], number]
        end
        pull.use_fd = nil
        pull.bind("tcp://127.0.0.1:*")
        Godwit::PUSH.connect(pull.last_endpoint) << "hello"
        puts pull.recv(timeout: 5)
      end
    RUBY
    assert_equal "hello\n" * 6, result.stdout
  end

  test "a valid descriptor, bound twice and by two sockets: libzmq gets duplicates, the original " \
    "stays open" do
    server = TCPServer.new("127.0.0.1", 0)
    first, second = Array.new(2) do
      open_socket(:PULL, use_fd: server.fileno).bind("tcp://127.0.0.1:*")
    end
    first.bind("tcp://127.0.0.1:*", name = endpoint_for(:inproc))
    assert_equal [server.local_address.ip_port] * 2, [first, second].map(&:port)
    assert_equal server.fileno, first.use_fd
    assert_flows(open_socket(:PUSH).connect(name), first)
    open_socket(:PUSH).connect(second.last_endpoint) << "hello"
    # The kernel gives the connection to one of the two sockets.
    message = eventually do
      [first, second].filter_map { |pull| pull.recv(timeout: 0.05, exception: false) }.first
    end
    assert_equal "hello", message
    [first, second].each(&:close)
    assert server.stat.socket?
  ensure
    server&.close
  end

  test "a UNIX socket for ipc" do
    server = UNIXServer.new("#{scratch_dir}/socket")
    pull = open_socket(:PULL, use_fd: server.fileno).bind("ipc://#{scratch_dir}/socket")
    assert_flows(open_socket(:PUSH).connect(pull.last_endpoint), pull)
  ensure
    server&.close
  end
end
