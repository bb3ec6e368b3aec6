# frozen_string_literal: true

require "work_helper"
require "support/librdkafka"
require "support/secure_broker"
require "erb"
require "ffi"
require "socket"

# What librdkafka reports of brokers that it cannot use, with Work's settings.
class WorkKafkaConnectionTest < Godwit::WorkCase
  deadline 300 # on a busy machine a broker starts slowly

  Work = Godwit::Work
  Kafka = Work.const_get(:Kafka)
  Functions = Kafka::Functions
  PRODUCER = 0
  ERROR_EVENTS = 8
  WITHIN = 10 # seconds, as issue 41 promises
  WAIT = 500 # ms of one call
  SECRET = ERB::Util.url_encode(SecureBroker::SECRET)

  # An event: its error's name, whether it is fatal, its text.
  Event = Struct.new(:code, :name, :fatal, :text)

  def teardown
    close_handle
    super
  end

  def open_handle(url, **options)
    configuration = Kafka::Configuration.make(Kafka::Settings.new(url, **options).check.producer)
    Functions.conf_set_events(configuration, ERROR_EVENTS)
    text = FFI::MemoryPointer.new(512)
    @handle = Functions.__send__(:new, PRODUCER, configuration, text, 512)
    if @handle.null?
      Kafka::Configuration.destroy(configuration)
      @handle = nil
      return text.read_string
    end
    @queue = Functions.queue_get_main(@handle)
    nil
  end

  def close_handle
    return unless @handle
    Functions.queue_destroy(@queue)
    Functions.destroy_flags(@handle, 0)
    @handle = nil
  end

  # @return [Array<Event>] up to the first one of this name
  def events(until_name = "_ALL_BROKERS_DOWN")
    all = []
    finish = monotonic + WITHIN
    until all.any? { |one| one.name == until_name }
      assert_operator monotonic, :<, finish, "no #{until_name} within #{WITHIN} s: #{all}"
      event = Functions.queue_poll(@queue, WAIT)
      all << read(event) unless event.null?
    end
    all
  end

  def read(event)
    code = Functions.event_error(event)
    Event.new(code, Functions.err2name(code), Functions.event_error_is_fatal(event) == 1,
      Functions.event_error_string(event).dup)
  ensure
    Functions.event_destroy(event)
  end

  # @return [Boolean] whether the brokers answer
  def answer?
    found = FFI::MemoryPointer.new(:pointer)
    code = Functions.metadata(@handle, 0, nil, found, WAIT)
    Functions.metadata_destroy(found.read_pointer) if code.zero?
    code.zero?
  end

  def secure = SecureBroker.shared

  # @return [Array] URL and keywords of a cluster whose CA is known
  def with_ca(url, ca: secure.ca, **options)
    [url, {kafka: {"ssl.ca.location" => ca}, **options}]
  end

  {
    "plain text" => -> { ["kafka://#{secure.address("PLAINTEXT")}", {}] },
    "SASL over TLS" => -> { with_ca("kafka+ssl://alice:#{SECRET}@#{secure.address("SASL_SSL")}") }
  }.each do |name, cluster|
    test "a broker is reached by #{name}" do
      url, options = instance_exec(&cluster)
      assert_nil open_handle(url, **options)
      eventually { answer? }
      assert_predicate Functions.queue_poll(@queue, 0), :null?
    end
  end

  TRANSPORT = ["_TRANSPORT", Work::BrokerError].freeze

  {
    "a wrong secret over TLS" => [
      -> { with_ca("kafka+ssl://alice:Tr0ub4dor@#{secure.address("SASL_SSL")}") },
      "_AUTHENTICATION", Work::AccessError, /Authentication failed: Invalid username or password/
    ],
    "a wrong CA" => [
      -> { with_ca("kafka+ssl://#{secure.address("SSL")}", ca: secure.other_ca) },
      "_SSL", Work::AccessError, /certificate verify failed/
    ],
    "plain text to a port with TLS" => [
      -> { ["kafka://#{secure.address("SSL")}", {}] },
      *TRANSPORT, /connecting to a SSL listener\?/
    ],
    "no broker" => [
      -> { ["kafka://127.0.0.1:#{Godwit::TestSupport::Ports.free}", {}] },
      *TRANSPORT, /Connection refused/
    ],
    "a host without an address" => [
      -> { ["kafka://no-such-host.invalid", {}] },
      "_RESOLVE", Work::BrokerError, /Failed to resolve 'no-such-host\.invalid:9092'/
    ],
    "a program that does not answer" => [
      -> { ["kafka://127.0.0.1:#{own(TCPServer.new("127.0.0.1", 0)).addr[1]}", {}] },
      *TRANSPORT, /Connection setup timed out/
    ]
  }.each do |name, (cluster, code, klass, text)|
    test "#{name} is reported with its cause before all brokers are down" do
      url, options = instance_exec(&cluster)
      assert_nil open_handle(url, **options)
      cause, *rest = events
      assert_equal [code, false], [cause.name, cause.fatal]
      assert_match text, cause.text
      assert_equal ["_ALL_BROKERS_DOWN"], rest.map(&:name)
      error = Kafka::Errors.of(cause.code, :connect, cause.text)
      assert_instance_of klass, error
      assert_equal klass == Work::BrokerError, error.retriable?
      [SecureBroker::SECRET, "Tr0ub4dor"].each { |secret| refute_includes error.message, secret }
      refute answer?
    end
  end
end
