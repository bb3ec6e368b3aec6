# frozen_string_literal: true

require "work_helper"
require "support/librdkafka"
require "ffi"

# Errors of librdkafka become Ruby exceptions.
class WorkKafkaErrorsTest < Godwit::WorkCase
  Work = Godwit::Work
  Kafka = Work.const_get(:Kafka)
  Errors = Kafka::Errors
  Functions = Kafka::Functions

  Functions.load
  Functions.attach_function(:error_new, "rd_kafka_error_new", %i[int string string], :pointer)

  # @return [FFI::Pointer] a new rd_kafka_error_t
  def native(code, text) = Functions.error_new(code, "%s", text)

  # @return [Integer] librdkafka's code of this name
  def code(name)
    @codes ||= (-250..200).to_h { |code| [Functions.err2name(code), code] }
    @codes.fetch(name)
  end

  {
    Work::AccessError => %w[
      TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED
      TRANSACTIONAL_ID_AUTHORIZATION_FAILED _AUTHENTICATION SASL_AUTHENTICATION_FAILED _SSL
      UNSUPPORTED_SASL_MECHANISM
    ],
    Work::TopicError => %w[UNKNOWN_TOPIC_OR_PART _UNKNOWN_TOPIC _UNKNOWN_PARTITION TOPIC_EXCEPTION],
    Work::LostError => %w[
      ILLEGAL_GENERATION UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID _FENCED PRODUCER_FENCED
      INVALID_PRODUCER_EPOCH _ASSIGNMENT_LOST _MAX_POLL_EXCEEDED
    ],
    Work::FormatError => %w[MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE],
    Godwit::UnsupportedError => %w[UNSUPPORTED_VERSION _UNSUPPORTED_FEATURE],
    Work::BrokerError => %w[
      _ALL_BROKERS_DOWN _TRANSPORT _RESOLVE _TIMED_OUT _MSG_TIMED_OUT NOT_ENOUGH_REPLICAS
      POLICY_VIOLATION _FATAL INVALID_CONFIG
    ]
  }.each do |klass, names|
    test "these are a #{klass}: #{names.join(", ")}" do
      names.each do |name|
        error = Errors.of(code(name), :produce, resource: "topic payments")
        assert_instance_of klass, error, name
        assert_kind_of Godwit::Error, error
        assert_equal :produce, error.operation
        text = Regexp.escape(Functions.err2str(code(name)).delete_suffix("."))
        assert_match(/\Aproduce topic payments: #{text} \(#{name}\)/, error.message)
      end
    end
  end

  test "each name of the table is librdkafka's, and has one class" do
    known = (-250..200).map { |code| Functions.err2name(code) }
    names = Errors.send(:const_get, :TABLE).flat_map(&:names)
    assert_equal names.uniq, names
    assert_empty names - known
    assert_empty Errors.send(:const_get, :RETRIABLE) - known
  end

  test "a message names the operation, the broker's cause, and the fix" do
    {
      ["_TRANSPORT", "h:1: Connection refused."] =>
        "connect: h:1: Connection refused (_TRANSPORT): look at the network, the brokers and " \
        "the URL: kafka+ssl:// is for a port with TLS, " \
        "USER:SECRET@ for one with SASL",
      ["GROUP_AUTHORIZATION_FAILED", "no"] => "work/docs/kafka.md lists all rights",
      ["_AUTHENTICATION", "no"] => "look at the URL's user and secret, and at sasl:",
      ["_SSL", "no"] => "ssl.ca.location", ["MSG_SIZE_TOO_LARGE", "no"] => "max.message.bytes",
      ["UNSUPPORTED_VERSION", "no"] => "transactions: false",
      ["_MSG_TIMED_OUT", "no"] => "may have been written"
    }.each do |(name, text), part|
      assert_includes Errors.of(code(name), :connect, text).message, part
    end
  end

  test "a broker's text is printable" do
    error = Errors.of(code("POLICY_VIOLATION"), :topic, "\e[31mno\n\xff".b)
    assert_equal "topic: \\e[31mno\\n\u{fffd} (POLICY_VIOLATION)", error.message
  end

  test "retriable? and fatal? are librdkafka's, or the code's" do
    {
      "_TRANSPORT" => [true, false], "NOT_ENOUGH_REPLICAS" => [true, false],
      "_FATAL" => [false, true], "POLICY_VIOLATION" => [false, false]
    }.each do |name, expected|
      error = Errors.of(code(name), :commit)
      assert_equal expected, [error.retriable?, error.fatal?], name
      assert_equal [name, code(name)], [error.name, error.code]
      expected.map!(&:!)
      error = Errors.of(code(name), :commit, retriable: expected[0], fatal: expected[1])
      assert_equal expected, [error.retriable?, error.fatal?], name
    end
    own = Work::BrokerError.new("x")
    assert_equal [nil, nil, false, false], [own.code, own.name, own.retriable?, own.fatal?]
  end

  test "an rd_kafka_error_t becomes an error, and is destroyed" do
    destroyed = []
    original = Functions.method(:error_destroy)
    Functions.stub(:error_destroy, ->(one) { destroyed << one && original.call(one) }) do
      assert_nil Errors.check(FFI::Pointer::NULL, :commit)
      assert_nil Errors.read(FFI::Pointer::NULL)
      assert_empty destroyed
      error = assert_raises(Work::BrokerError) do
        Errors.check(native(code("NOT_COORDINATOR"), "moved"), :commit)
      end
      assert_equal "commit: moved (NOT_COORDINATOR)", error.message
      assert_equal [false, false], [error.retriable?, error.fatal?] # flags of the rd_kafka_error_t
      assert_equal 1, destroyed.size
      assert_raises(Work::LostError) do
        Errors.check(native(code("ILLEGAL_GENERATION"), "x"), :commit)
      end
      facts = Errors.read(native(code("_FATAL"), "worse"))
      assert_equal [code("_FATAL"), "_FATAL", "worse", false, false, false], facts.to_a
      assert_equal 3, destroyed.size
    end
  end
end
