# frozen_string_literal: true

require "openssl"
require "support/broker"

# A broker with a listener for each protocol, and the user "alice" whose secret is SECRET.
class SecureBroker
  SECRET = "s3cr:et/@%"
  # Listeners, in the order of their ports.
  LISTENERS = %w[PLAINTEXT CONTROLLER SSL SASL_SSL].freeze
  DAY = 86_400

  # @return [SecureBroker] of this process
  # @raise [Minitest::Skip] when there is none
  def self.shared
    @shared ||= new(Dir.mktmpdir("godwit-certificates").tap { |folder|
      Minitest.after_run { FileUtils.rm_rf(folder) }
    })
  end

  # @return [String] the path of the CA's certificate, of another CA's
  attr_reader :ca, :other_ca
  # @return [Broker]
  attr_reader :broker

  # @param folder [String] for certificates
  def initialize(folder)
    @ca, @other_ca = %w[ca other].map { |name| File.join(folder, "#{name}.pem") }
    @keys = File.join(folder, "broker.pem")
    write_certificates
    @broker = Broker.start(ports: LISTENERS.size, properties: method(:properties))
  end

  # @param listener [String]
  # @return [String] "127.0.0.1:PORT"
  def address(listener) = "127.0.0.1:#{broker.port + LISTENERS.index(listener)}"

  def remove = broker.remove

  private

  def properties(port)
    addresses = LISTENERS.map.with_index { |name, at| "#{name}://127.0.0.1:#{port + at}" }
    plain = "org.apache.kafka.common.security.plain.PlainLoginModule required " \
      "user_alice=\"#{SECRET}\";"
    <<~PROPERTIES
      listeners=#{addresses.join(",")}
      advertised.listeners=#{addresses.grep_v(/CONTROLLER/).join(",")}
      listener.security.protocol.map=CONTROLLER:PLAINTEXT,#{
        (LISTENERS - ["CONTROLLER"]).map { |name| "#{name}:#{name}" }.join(",")}
      ssl.keystore.type=PEM
      ssl.keystore.location=#{@keys}
      sasl.enabled.mechanisms=PLAIN
      listener.name.sasl_ssl.plain.sasl.jaas.config=#{plain}
    PROPERTIES
  end

  # The broker's certificate is its own CA.
  def write_certificates
    key, certificate = make_certificate
    File.write(@ca, certificate)
    File.write(@other_ca, make_certificate.last)
    File.write(@keys, key + certificate)
  end

  # @return [Array(String, String)] a key and its certificate, as PEM
  def make_certificate
    key = OpenSSL::PKey::EC.generate("prime256v1")
    one = OpenSSL::X509::Certificate.new
    one.version = 2
    one.serial = rand(1 << 60)
    one.public_key = key
    one.subject = one.issuer = OpenSSL::X509::Name.parse("/CN=127.0.0.1")
    one.not_before = Time.now - DAY
    one.not_after = Time.now + DAY
    factory = OpenSSL::X509::ExtensionFactory.new(one, one)
    one.add_extension(factory.create_extension("subjectAltName", "IP:127.0.0.1"))
    one.sign(key, "SHA256")
    [key.private_to_pem, one.to_pem]
  end
end
