# frozen_string_literal: true

require_relative "../test_helper"

# Errors.build: from an errno and an operation to the exception that a user meets.
class ErrorsTableTest < Godwit::TestCase
  ETERM = 156_384_765
  # A row for each kind of class that the table chooses: by errno, by operation, by no entry.
  {
    [Errno::ETIMEDOUT, :recv] => [Godwit::TimeoutError, Errno::ETIMEDOUT, true],
    [Errno::EAGAIN, :recv_nonblock] => [Godwit::EAGAINWaitReadable, IO::WaitReadable, true],
    [Errno::EAGAIN, :send_nonblock] => [Godwit::EAGAINWaitWritable, IO::WaitWritable, true],
    [Errno::ENOTSOCK, :send] => [Godwit::ClosedError, IOError, false],
    [Errno::EINVAL, :bind] => [Godwit::EndpointError, Errno::EINVAL, false],
    [Errno::EINVAL, :set] => [Godwit::OptionError, ArgumentError, false],
    [Errno::EINVAL, :send] => [Godwit::SystemError, Errno::EINVAL, false],
    [Errno::ENOENT, :unbind] => [Godwit::NoEndpointError, Errno::ENOENT, false],
    [Errno::ENOENT, :bind] => [Godwit::SystemError, Errno::ENOENT, false],
    [Errno::EINTR, :recv] => [Godwit::SystemError, Errno::EINTR, true],
    [ETERM, :recv] => [Godwit::ContextTerminatedError, IOError, false]
  }.each do |(errno, operation), (klass, parent, retriable)|
    errno = errno::Errno if errno.is_a?(Class)
    define_method(:"test_#{operation}_#{errno}_is_#{klass}") do
      error = Godwit::Errors.build(errno, operation, "tcp://127.0.0.1:5555", nil)
      [klass, parent, Godwit::Error].each { |kind| assert_kind_of kind, error }
      assert_equal [errno, operation, "tcp://127.0.0.1:5555", retriable],
        [error.errno, error.operation, error.endpoint, error.retriable?]
      assert error.message.start_with?("#{operation} tcp://127.0.0.1:5555: "), error.message
    end
  end

  test "superclasses of errors that godwit detects" do
    {ForkedError: IOError, OptionError: ArgumentError, CurveKeyError: ArgumentError,
     MessageTypeError: TypeError,
     MessageError: ArgumentError, MultipartError: StandardError}.each do |name, parent|
      klass = Godwit.const_get(name)
      assert_equal parent, klass.superclass
      error = Godwit::Errors.build(klass, :recv)
      assert_instance_of klass, error
      assert_match(/\Arecv: .+ \(.+\)\z/, error.message)
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
  end
end
