# frozen_string_literal: true

require "work_helper"
require "support/librdkafka"
require "support/secure_broker"
require "erb"
require "socket"

# connect reaches a broker, or raises an error that names the cause.
class WorkKafkaConnectionTest < Godwit::WorkCase
  deadline 300 # seconds: on a busy machine a broker starts slowly

  Work = Godwit::Work
  WITHIN = 10 # seconds within which connect must raise
  SECRET = ERB::Util.url_encode(SecureBroker::SECRET)
  WRONG = "Tr0ub4dor"

  def secure = SecureBroker.shared

  # @return [Array] arguments of connect: the URL, and keywords that name the CA certificate
  def with_ca(url, ca: secure.ca) = [url, {kafka: {"ssl.ca.location" => ca}}]

  test "a broker is reached by SASL over TLS" do
    url, options = with_ca("kafka+ssl://alice:#{SECRET}@#{secure.address("SASL_SSL")}")
    assert_empty Work.connect(url, **options).topics
  end

  BAD = {
    "a wrong secret over TLS" => [
      -> { with_ca("kafka+ssl://alice:#{WRONG}@#{secure.address("SASL_SSL")}") },
      Work::AccessError, /Authentication failed: Invalid username or password/
    ],
    "a wrong CA" => [
      -> { with_ca("kafka+ssl://#{secure.address("SSL")}", ca: secure.other_ca) },
      Work::AccessError, /certificate verify failed/
    ],
    "plain text to a port with TLS" => [
      -> { ["kafka://#{secure.address("SSL")}", {}] },
      Work::BrokerError, /connecting to a SSL listener\?/
    ],
    "no broker" => [
      -> { ["kafka://127.0.0.1:#{Godwit::TestSupport::Ports.free}", {}] },
      Work::BrokerError, /Connection refused/
    ],
    "a host without an address" => [
      -> { ["kafka://no-such-host.invalid", {}] },
      Work::BrokerError, /Failed to resolve 'no-such-host\.invalid:9092'/
    ],
    "a program that does not answer" => [
      -> { ["kafka://127.0.0.1:#{own(TCPServer.new("127.0.0.1", 0)).addr[1]}", {}] },
      Work::BrokerError, /Connection setup timed out/
    ]
  }.freeze

  # @return [Array(Godwit::Error, Float)] the error of connect, and the seconds that connect took
  def refusal(url, options)
    error = nil
    took = seconds do
      Work.const_get(:Connection).open(url, **options)
    rescue Godwit::Error => error
      nil
    end
    [error, took]
  end

  test "of brokers that it cannot use connect raises the cause within 10 s" do
    threads = BAD.transform_values do |cluster, _, _|
      url, options = instance_exec(&cluster)
      in_thread { refusal(url, options) }
    end
    BAD.each do |name, (_, klass, text)|
      error, took = threads[name].value
      assert_equal [klass, :connect, klass == Work::BrokerError, klass == Work::AccessError],
        [error.class, error.operation, error.retriable?, error.fatal?], name
      assert_match text, error.message, name
      [SecureBroker::SECRET, SECRET, WRONG].each { |one| refute_includes error.message, one, name }
      assert_operator took, :<, WITHIN, name
    end
  end
end
