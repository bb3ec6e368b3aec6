# frozen_string_literal: true

require_relative "../test_helper"

# api/errors.yml and Errors.build: from an errno to the exception that a user meets.
class ErrorsTableTest < Godwit::TestCase
  EFSM, ENOCOMPATPROTO, ETERM, EMTHREAD = *156_384_763..156_384_766
  # The classes that a user may rescue, with their errno and operation.
  EXPECTED = [
    [Errno::ETIMEDOUT::Errno, :recv, Godwit::TimeoutError, Errno::ETIMEDOUT, true],
    [
      Errno::EAGAIN::Errno, :recv_nonblock, Godwit::EAGAINWaitReadable, IO::EAGAINWaitReadable, true
    ],
    [
      Errno::EAGAIN::Errno, :send_nonblock, Godwit::EAGAINWaitWritable, IO::EAGAINWaitWritable, true
    ],
    [Errno::ENOTSOCK::Errno, :send, Godwit::ClosedError, IOError, false],
    [ETERM, :recv, Godwit::ContextTerminatedError, IOError, false],
    [EFSM, :send, Godwit::StateError, StandardError, false],
    [Errno::EHOSTUNREACH::Errno, :send, Godwit::UnreachableError, Errno::EHOSTUNREACH, true],
    [Errno::EADDRINUSE::Errno, :bind, Godwit::AddressInUseError, Errno::EADDRINUSE, true],
    [
      Errno::EADDRNOTAVAIL::Errno, :bind, Godwit::AddressNotAvailableError, Errno::EADDRNOTAVAIL,
      false
    ],
    [Errno::ENODEV::Errno, :bind, Godwit::InterfaceError, Errno::ENODEV, false],
    [Errno::EPROTONOSUPPORT::Errno, :connect, Godwit::ProtocolError, Errno::EPROTONOSUPPORT, false],
    [ENOCOMPATPROTO, :bind, Godwit::IncompatibleProtocolError, StandardError, false],
    [Errno::EINVAL::Errno, :bind, Godwit::EndpointError, Errno::EINVAL, false],
    [Errno::EINVAL::Errno, :connect, Godwit::EndpointError, Errno::EINVAL, false],
    [Errno::EINVAL::Errno, :set, Godwit::OptionError, ArgumentError, false],
    [Errno::EINVAL::Errno, :get, Godwit::OptionError, ArgumentError, false],
    [Errno::ENOENT::Errno, :unbind, Godwit::NoEndpointError, Errno::ENOENT, false],
    [Errno::ENOENT::Errno, :disconnect, Godwit::NoEndpointError, Errno::ENOENT, false],
    [Errno::EACCES::Errno, :bind, Godwit::AccessError, Errno::EACCES, false],
    [Errno::EMFILE::Errno, :new, Godwit::TooManySocketsError, Errno::EMFILE, true],
    [Errno::EOPNOTSUPP::Errno, :send, Godwit::UnsupportedError, Errno::EOPNOTSUPP, false],
    [EMTHREAD, :connect, Godwit::NoIOThreadError, StandardError, false],
    [Errno::ENOENT::Errno, :bind, Godwit::SystemError, Errno::ENOENT, false],
    [Errno::EINVAL::Errno, :send, Godwit::SystemError, Errno::EINVAL, false],
    [Errno::EINTR::Errno, :recv, Godwit::SystemError, Errno::EINTR, true],
    [Errno::EBADF::Errno, :recv, Godwit::SystemError, Errno::EBADF, false]
  ].freeze

  EXPECTED.each do |errno, operation, klass, parent, retriable|
    define_method(:"test_#{operation}_#{errno}_is_#{klass}") do
      error = Godwit::Errors.build(errno, operation, "tcp://127.0.0.1:5555", nil)
      assert_kind_of klass, error
      assert_kind_of parent, error
      assert_kind_of Godwit::Error, error
      assert_equal errno, error.errno
      assert_equal operation, error.operation
      assert_equal "tcp://127.0.0.1:5555", error.endpoint
      assert_equal retriable, error.retriable?
      assert error.message.start_with?("#{operation} tcp://127.0.0.1:5555: "), error.message
      rescued = begin
        raise error
      rescue parent => e
        e
      end
      assert_same error, rescued
    end
  end

  def test_superclasses_of_errors_that_godwit_detects
    {ForkedError: IOError, OptionError: ArgumentError, CurveKeyError: ArgumentError,
     MessageTypeError: TypeError,
     MessageError: ArgumentError, MultipartError: StandardError}.each do |name, parent|
      klass = Godwit.const_get(name)
      assert_equal parent, klass.superclass
      error = Godwit::Errors.build(klass, :recv)
      assert_instance_of klass, error
      assert_kind_of Godwit::Error, error
      assert_match(/\Arecv: .+ \(.+\)\z/, error.message)
    end
  end

  def test_would_block_has_its_own_class
    [Godwit::EAGAINWaitReadable, Godwit::EAGAINWaitWritable].each do |klass|
      assert_includes klass.ancestors, Godwit::WouldBlock
    end
    assert_includes Godwit::EAGAINWaitReadable.ancestors, IO::WaitReadable
    assert_includes Godwit::EAGAINWaitWritable.ancestors, IO::WaitWritable
    assert_includes Godwit::WouldBlock.ancestors, Godwit::Error
  end

  def test_the_message_names_operation_endpoint_words_and_fix
    error = Godwit::Errors.build(Errno::EACCES::Errno, "bind", "tcp://127.0.0.1:80", nil)
    assert_equal "bind tcp://127.0.0.1:80: Permission denied (a port below 1024 needs root; use " \
      "a higher port)",
      error.message
    assert_includes Godwit::Errors.build(Errno::EACCES::Errno, :bind, "ipc:///etc/x").message,
      "folder"
    assert_includes Godwit::Errors.build(Errno::ENOENT::Errno, :bind, "ipc:///none/x").message,
      "folder"
  end

  def test_the_detail_takes_the_place_of_the_hint
    error = Godwit::Errors.build(Errno::ENODEV::Errno, :bind, "tcp://host:1", "say * or an IP")
    assert_equal "bind tcp://host:1: No such device (say * or an IP)", error.message
    assert_equal "send: Wrong number of frames",
      Godwit::Errors.build(Godwit::MessageError, :send, nil, "").message
  end

  def test_no_operation_and_no_endpoint_are_no_trouble
    assert_match(
      /\AAddress already in use \(/, Godwit::Errors.build(Errno::EADDRINUSE::Errno).message
    )
  end

  def test_credentials_in_an_endpoint_are_hidden
    error = Godwit::Errors.build(Errno::EINVAL::Errno, :connect, "tcp://user:sesame@host:1", nil)
    refute_includes error.message, "sesame"
    refute_includes error.endpoint, "sesame"
    assert_equal "ipc://@name",
      Godwit::Errors.build(Errno::EINVAL::Errno, :connect, "ipc://@name").endpoint
  end

  def test_an_errno_outside_the_table_keeps_one_class
    first, second = Array.new(2) { Godwit::Errors.build(Errno::EBADF::Errno, :recv) }
    assert_same first.class, second.class
    assert_equal Errno::EBADF, first.class.superclass
    assert_equal "Godwit::SystemError::EBADF", first.class.name
  end

  def test_an_unknown_errno
    error = Godwit::Errors.build(54_321, :recv)
    assert_kind_of SystemCallError, error
    assert_kind_of Godwit::SystemError, error
    assert_equal 54_321, error.errno
    assert_includes error.message, "54321"
  end

  def test_all_forms_of_raise_keep_class_and_message
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

  def test_a_multipart_error_carries_the_frames
    assert_equal %w[a b], Godwit::MultipartError.new("two", frames: %w[a b]).frames
  end

  def test_the_page_lists_every_class
    page = File.read(File.expand_path("../../docs/errors.md", __dir__))
    Godwit::Errors::TABLE.filter_map(&:klass).each do |klass|
      assert_includes page,
        "| `#{klass.name.delete_prefix("Godwit::")}` | `#{klass.superclass}`".sub(
          "Errno::ENOTSUP", "Errno::EOPNOTSUPP"
        )
    end
  end
end
