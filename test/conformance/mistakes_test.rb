# frozen_string_literal: true

require "test_helper"

# Calls that beginners get wrong. The text of each error names the fix.
class MistakesTest < Godwit::TestCase
  KEYS = "(docs/options.md lists them, and so does Godwit::Options::%s.keys)"
  FORMAT = "give the socket format: :json; send then takes a value, and recv gives it"

  # Wrong calls of a PUSH or a PULL, and the text of the error.
  CALLS = {
    "two Strings" =>
      [->(push, _) { push.send("a", "b") },
        "send: takes one message: got 2 (several frames are one Array: send([\"a\", \"b\"]))"],
    "two Strings and a keyword" =>
      [->(push, _) { push.send("a", nil, timeout: 1) }, "send: takes one message: got 2 (several " \
        "frames are one Array: send([\"a\", \"b\"]))"],
    "seconds" =>
      [->(_, pull) { pull.recv(0.2) }, "recv: takes no argument: got 0.2 (Float) (seconds are a " \
        "keyword: recv(timeout: 0.2))"],
    "nil, and a keyword" =>
      [->(_, pull) { pull.recv(nil, exception: false) }, "recv: takes no argument: got nil " \
        "(seconds are a keyword: recv(timeout: seconds))"],
    "send_string" =>
      [->(push, _) { push.send_string("x") },
        "undefined method `send_string' for a Godwit::PUSH: a String is a message of one frame: " \
          "send(string)"],
    "recv_json" =>
      [->(_, pull) { pull.recv_json },
        "undefined method `recv_json' for a Godwit::PULL: #{FORMAT}"],
    "another type's method" =>
      [->(push, _) { push.request("x") }, "undefined method `request' for a Godwit::PUSH: only a " \
        "REQ has it. A DEALER sends [\"\", question], and receives [\"\", answer]"],
    "a slip" => [->(push, _) { push.sendd("x") },
      "undefined method `sendd' for a Godwit::PUSH: did you mean send?"],
    "the name of an internal method" =>
      [->(push, _) { push.send_frrom("x") },
        "undefined method `send_frrom' for a Godwit::PUSH: did you mean send_frame?"]
  }.freeze

  CALLS.each do |name, (call, text)|
    test "a call with #{name}" do
      push, pull = connected_pair(:PUSH, :PULL, transport: :inproc)
      error = assert_raises(StandardError) { call.call(push, pull) }
      assert_equal text, error.message.lines.first.chomp
      assert_includes error.backtrace.first, __FILE__ if error.is_a?(NoMethodError)
      push.send("still usable")
      assert_equal "still usable", pull.recv(timeout: 5)
    end
  end

  SOCKET_OPTIONS = {
    hwm: "; did you mean send_hwm:, recv_hwm:?", timeout: "; did you mean send_timeout:, " \
    "recv_timeout:?", topic: "; did you mean subscribe:?", sndhwm: "; did you mean send_hwm?",
    io_threads: "; the context has it: Context.new(io_threads: …)", xyzzy: "",
    bind: "; did you mean the method, as in Godwit::PULL.bind(\"tcp://…\")?"
  }.freeze
  CONTEXT_OPTIONS = {
    io_thread: "; did you mean io_threads?",
    recv_hwm: "; sockets have it: Context.new(socket_options: {recv_hwm: …})",
    hwm: "; sockets have it: Context.new(socket_options: {send_hwm:, recv_hwm: …})", xyzzy: ""
  }.freeze

  test "unknown options have a guess" do
    SOCKET_OPTIONS.each do |name, guess|
      error = assert_raises(Godwit::OptionError) { Godwit::SUB.connect("tcp://[::1]:1", name => 1) }
      assert_equal "unknown socket option #{name.inspect}#{guess} #{format(KEYS, "SOCKET")}",
        error.message
    end
    CONTEXT_OPTIONS.each do |name, guess|
      error = assert_raises(Godwit::OptionError) { Godwit::Context.new(name => 1) }
      assert_equal "unknown context option #{name.inspect}#{guess} #{format(KEYS, "CONTEXT")}",
        error.message
    end
    assert_raises(Godwit::OptionError) { Godwit::Options.fetch(5) }
  end

  test "a socket converts to nothing, and Ruby calls no method_missing of it for that" do
    socket = open_socket(:PUSH)
    socket.define_singleton_method(:method_missing) { |name, *| raise "asked for #{name}" }
    assert_equal [socket], [*socket]
    assert_equal [socket], [socket].flatten
    refute_respond_to socket, :send_string
    refute_respond_to socket, :to_io # with to_io, IO.select would miss queued messages
  end

  test "a ROUTER takes no routing id alone" do
    router = open_socket(:ROUTER, mandatory: true)
    text = "send: a ROUTER's message begins with its peer's routing id, as it was received: " \
      "send([id, \"\", body]) for a REQ, send([id, body]) for a DEALER; got 1 frame"
    [-> { router << "x" }, -> { router.send(["x"]) }, -> { router.send("x", timeout: 1) }]
      .each { |call| assert_equal text, assert_raises(Godwit::MessageError, &call).message }
    assert_raises(Godwit::MessageError) { router.send_many(["x"]) }
    assert_raises(Godwit::MessageError) { open_socket(:STREAM) << "x" }
  end

  test "an ipc path that another process is bound to" do
    path = "ipc://#{scratch_dir}/socket"
    child = start_child(<<~RUBY, [path])
      require "godwit"
      pull = Godwit::PULL.bind(ARGV.first)
      $stdout.syswrite("ready\\n")
      $stdin.read
    RUBY
    child.wait_for(/^ready$/)
    error = assert_raises(Godwit::AddressInUseError) { open_socket(:PULL).bind(path) }
    assert_equal "bind #{path}: Address already in use (a socket of another process is bound " \
      "there: end that process, or use another path)", error.message
    child.finish
    2.times { open_socket(:PULL).bind(path) } # replaces the child's file, then this process's
  end
end
