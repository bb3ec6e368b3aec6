# frozen_string_literal: true

require "support/broker"

# A broker with a listener for each protocol, and the user "alice" whose secret is SECRET.
class SecureBroker
  SECRET = "s3cr:et/@%"
  # Names of the listeners, in the order of their ports.
  LISTENERS = %w[PLAINTEXT CONTROLLER SSL SASL_SSL].freeze

  # @return [SecureBroker] the same broker for all tests of this process
  # @raise [Minitest::Skip] when no broker can be started
  def self.shared
    @shared ||= new(Dir.mktmpdir("godwit-certificates").tap { |folder|
      Minitest.after_run { FileUtils.rm_rf(folder) }
    })
  end

  # @return [String] ca: the path of the broker's certificate; other_ca: of an unrelated certificate
  attr_reader :ca, :other_ca

  # @param folder [String] the folder for the certificates
  def initialize(folder)
    @ca, @other_ca = %w[ca other].map { |name| certificate(File.join(folder, "#{name}.pem")) }
    @broker = Broker.start(ports: LISTENERS.size, properties: method(:properties))
  end

  # @param listener [String] a name in LISTENERS
  # @return [String] "127.0.0.1:PORT"
  def address(listener) = "127.0.0.1:#{@broker.port + LISTENERS.index(listener)}"

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
      ssl.keystore.location=#{@ca}
      sasl.enabled.mechanisms=PLAIN
      listener.name.sasl_ssl.plain.sasl.jaas.config=#{plain}
    PROPERTIES
  end

  # Makes one file with a key and a self-signed certificate, which is also the clients' CA.
  # @return [String] the path of the file
  def certificate(path)
    system("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1",
      "-keyout", path, "-out", path, err: File::NULL, exception: true)
    path
  end
end
