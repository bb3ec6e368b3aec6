# frozen_string_literal: true

require_relative "case"

# Errors.build, which makes the user's exception from an errno and an operation. Also the errors
# that a server sends as a reply.
class ErrorsTest < Conformance::Case
  Reply = Godwit::ErrorReply
  PAGE = File.read(File.expand_path("../../docs/error-replies.md", __dir__))

  # [errno, operation] => [class of the error, its superclass, whether the error is retriable].
  # The files in test/conformance/plain test other operations.
  {
    [Errno::ENOTSOCK, :send] => [Godwit::ClosedError, IOError, false],
    [Errno::EINVAL, :send] => [Godwit::SystemError, Errno::EINVAL, false],
    [Errno::EINTR, :recv] => [Godwit::SystemError, Errno::EINTR, true]
  }.each do |(errno, operation), (klass, parent, retriable)|
    errno = errno::Errno
    define_method(:"test_#{operation}_#{errno}_is_#{klass}") do
      error = Godwit::Errors.build(errno, operation, "tcp://127.0.0.1:5555", nil)
      [klass, parent, Godwit::Error].each { |kind| assert_kind_of kind, error }
      assert_equal [errno, operation, "tcp://127.0.0.1:5555", retriable],
        [error.errno, error.operation, error.endpoint, error.retriable?]
      assert error.message.start_with?("#{operation} tcp://127.0.0.1:5555: "), error.message
    end
  end

  test "the message names operation, endpoint, words and fix; a detail replaces the fix" do
    build = ->(*arguments) { Godwit::Errors.build(*arguments).message }
    assert_equal "bind tcp://127.0.0.1:80: Permission denied (a port below 1024 needs root; use " \
      "a higher port)", build.call(Errno::EACCES::Errno, "bind", "tcp://127.0.0.1:80", nil)
    assert_includes build.call(Errno::EACCES::Errno, :bind, "ipc:///etc/x"), "folder"
    assert_equal "bind tcp://host:1: No such device (say * or an IP)",
      build.call(Errno::ENODEV::Errno, :bind, "tcp://host:1", "say * or an IP")
    assert_equal "send: Wrong number of frames", build.call(Godwit::MessageError, :send, nil, "")
    assert_match(/\AAddress already in use \(/, build.call(Errno::EADDRINUSE::Errno))
  end

  test "credentials in an endpoint are hidden" do
    error = Godwit::Errors.build(Errno::EINVAL::Errno, :connect, "tcp://user:sesame@host:1", nil)
    refute_includes error.full_message, "sesame"
    refute_includes error.endpoint, "sesame"
    assert_equal "ipc://@name",
      Godwit::Errors.build(Errno::EINVAL::Errno, :connect, "ipc://@name").endpoint
  end

  test "an errno outside the table has one class, an unknown errno too" do
    first, second = Array.new(2) { Godwit::Errors.build(Errno::EBADF::Errno, :recv) }
    assert_same first.class, second.class
    assert_equal [Errno::EBADF, "Godwit::SystemError::EBADF"],
      [first.class.superclass, first.class.name]
    error = Godwit::Errors.build(54_321, :recv)
    assert_kind_of SystemCallError, error
    assert_kind_of Godwit::SystemError, error
    assert_equal 54_321, error.errno
    assert_includes error.message, "54321"
  end

  test "all forms of raise keep class and message" do
    error = assert_raises(Godwit::TimeoutError) { raise Godwit::TimeoutError, "late" }
    assert_equal ["late", Errno::ETIMEDOUT::Errno, true],
      [error.message, error.errno, error.retriable?]
    error = assert_raises(Godwit::TimeoutError) { raise Godwit::TimeoutError }
    assert_equal Errno::ETIMEDOUT::Errno, error.errno
    original = Godwit::Errors.build(Errno::EADDRINUSE::Errno, :bind, "tcp://*:1")
    copy = assert_raises(Errno::EADDRINUSE) { raise original, "other words" }
    assert_equal ["other words", :bind], [copy.message, copy.operation]
    refute_equal "other words", original.message
    assert_equal Errno::ENOTSOCK::Errno, Godwit::ClosedError.new("closed").errno
    assert_equal IOError, Godwit::ForkedError.superclass
  end

  # ---- error replies ----

  # docs/error-replies.md shows these bytes to authors of other libraries.
  test "the page's vectors" do
    vectors = PAGE.scan(/^\| `([0-9a-f ]+)` \| `(.*)` \| `(.*)` \|$/)
    assert_operator vectors.size, :>=, 4
    vectors.each do |hex, name, message|
      bytes = [hex.delete(" ")].pack("H*")
      message = message.gsub('\n', "\n")
      error = Godwit::RemoteError.new(remote_class: name, remote_message: message)
      assert_equal bytes, Reply.dump(error)
      error = Reply.load(bytes)
      assert_equal [name, message], [error.remote_class, error.remote_message]
    end
  end

  test "what a server cannot send as it is" do
    anonymous = Class.new(Class.new(ArgumentError)).new("x")
    {
      anonymous => %w[ArgumentError x],
      RuntimeError.new("\xff\xfe") => ["RuntimeError", "\uFFFD" * 2],
      RuntimeError.new("gr\xC3\xBCn".b) => %w[RuntimeError grün],
      RuntimeError.new("€" * 4096) => ["RuntimeError", "#{"€" * 1365}?..."],
      Class.new(StandardError) { def message = nil }.new => ["StandardError", ""]
    }.each do |error, expected|
      read = Reply.load(Reply.dump(error))
      assert_equal expected, [read.remote_class, read.remote_message]
    end
  end

  test "the source code that Ruby 3.1 adds to a message is not sent" do
    error = assert_raises(NoMethodError) {
      secret_of_the_server = nil
      secret_of_the_server.foo
    }
    refute_includes Reply.dump(error), "secret_of_the_server"
  end

  test "a message for people has no characters that control a terminal" do
    error = Reply.load("#{Reply::MARK}A\e[2J\nb\nc\e]")
    assert_equal ['A\e[2J: b\nc\e]', "A\e[2J", "b\nc\e]"],
      [error.message, error.remote_class, error.remote_message]
  end

  test "what is no error, and what is a short one" do
    ["", "\xC1", "\xC1godwit/error", "x\xC1godwit/error\n", "{}"].each do |bytes|
      assert_nil Reply.load(bytes)
    end
    {"" => ["", ""], "A" => ["A", ""], "A\n" => ["A", ""], "\nb" => ["", "b"]}.each do |rest, both|
      error = Reply.load(Reply::MARK + rest)
      assert_equal both, [error.remote_class, error.remote_message]
    end
  end

  # The middle server sends requests to the last server. The client gets the last server's error.
  test "a chosen error is sent without a warning, through several servers" do
    last = open_socket(:REP).bind(endpoint_for(:inproc))
    middle = open_socket(:REP).bind(endpoint_for(:inproc))
    ask = open_socket(:REQ).connect(last.last_endpoint)
    req = open_socket(:REQ).connect(middle.last_endpoint)
    own = Class.new(Godwit::RemoteError) { def self.name = "Shop::NotFound" }
    in_thread do
      last.serve { |text| (text == "raise") ? raise(own, "order 5") : own.new("order 5") }
    end
    in_thread { middle.serve { |text| ask.request(text, timeout: 5) } }
    _, warnings = capture_io do
      %w[raise return].each do |how|
        error = assert_raises(Godwit::RemoteError) { req.request(how, timeout: 5, retries: 1) }
        assert_equal ["Shop::NotFound", "order 5"], [error.remote_class, error.remote_message]
        assert_equal [middle.last_endpoint, false], [error.endpoint, error.retriable?]
      end
    end
    assert_empty warnings
  end

  test "an error is one frame: a client that receives by hand can send again" do
    rep, req = connected_pair(:REP, :REQ, transport: :inproc)
    in_thread { rep.serve { IOError.new("no disk") } }
    2.times do
      assert_equal "#{Reply::MARK}IOError\nno disk".b, req.send("x").recv(timeout: 5)
    end
    assert_raises(Godwit::RemoteError) { req.request("x", timeout: 5, exception: false) }
  end
end
