# frozen_string_literal: true

require "test_helper"
require "net/http"
require "open3"
require "socket"
require "support/ports"
require_relative "../../../rakelib/support/edge_build"
require_relative "back_end"
require_relative "edge_connection"
require_relative "edge_server"
require_relative "redis_server"

# A test of the edge: nginx with godwit's module and app files, on free ports of 127.0.0.1.
class EdgeCase < Godwit::TestCase
  MISSING = EdgeBuild.missing

  # An app that evaluates the request's body. Its answer is the JSON of the value, or of the error.
  EVALUATES = <<~'RUBY'
    LOG = []
    def outcome
      yield
    rescue ScriptError, StandardError => error
      "#{error.class}: #{error.message}"
    end
    run ->(env) { [200, {}, [JSON.generate(outcome { eval(env["rack.input"].read) })]] }
  RUBY

  # Ruby code of an app. Under a name SAID counts calls of `noted` with this name, under a class the
  # errors of this class in the blocks, under "ensure" the blocks that have ended.
  NOTED = <<~RUBY
    SAID = Hash.new(0)
    def noted(name)
      SAID[name] += 1
      yield
    rescue Exception => error
      SAID[error.class.to_s] += 1
      raise error
    ensure
      SAID["ensure"] += 1
    end
  RUBY

  # @return [String] path of the nginx module
  def self.built = @@built ||= ENV["GODWIT_EDGE_MODULE"] || EdgeBuild.new.build

  def setup
    skip MISSING if MISSING
  end

  # Asserts that nginx's error log has no line of level alert or worse.
  def before_teardown
    connections.each(&:close)
    servers.each(&:stop)
    [*stores, *back_ends].each(&:kill)
    bad = servers.flat_map { |server| server.log.lines.grep(/\[(alert|crit|emerg)\]/) }
    assert_empty bad unless @alerts_expected
    super
  end

  # @param source [String, Hash{String => String}] an app's file for "/", or one for each location
  # @param conf [String] additional lines of the block http{}
  # @param server [String] additional lines of the block server{}
  # @param workers [Integer] number of nginx workers
  # @param listen [String] parameters of the directive `listen`
  # @param env [Hash{String => String}] environment variables, such as REDIS_URL
  # @return [EdgeServer] @server, which accepts connections
  def edge(source, **options)
    sources = source.is_a?(Hash) ? source : {"/" => source}
    one = EdgeServer.new(self, "#{scratch_dir}/edge-#{servers.size}", self.class.built, sources,
      **options)
    servers << one
    @server = one.start
  end

  # Starts nginx with {EVALUATES}, which `code` precedes.
  def evaluate(code = "", **options) = edge(code + EVALUATES, **options)

  # @return [Object] the value of the code, which the app {EVALUATES} evaluates
  def ask(code, headers = {}, path: "/")
    JSON.parse(@server.post(path, code, headers).body)
  end

  # @return [Hash{String => Integer}] the counts of {NOTED}, with which the app answers "/said"
  def said = JSON.parse(@server.get("/said").body)

  # @param options [Array<String>] options of redis-server
  # @return [RedisServer] a server that accepts connections
  def redis(*options)
    RedisServer.new(self, "#{scratch_dir}/redis-#{stores.size}", *options).tap { |one|
      stores << one
    }
  end

  # The arguments are those of BackEnd#initialize, after `test`.
  # @return [BackEnd] a server whose socket is bound
  def back_end(...) = BackEnd.new(self, ...).tap { |one| back_ends << one }

  # @param path [String, nil] path of a request to send at once (EdgeConnection#ask)
  # @return [EdgeConnection] closed before nginx ends: nginx would wait for the client
  def connection(path = nil, port: @server.port, **request)
    EdgeConnection.new(port).tap do |one|
      connections << one
      one.ask(path, **request) if path
    end
  end

  # Allows lines of level alert or worse in nginx's log: the test makes a worker fail on purpose.
  def expect_alerts = @alerts_expected = true

  # @return [String] lines of the block server{}: TLS and HTTP/2 on this port
  def tls(port)
    certify("tls")
    "listen 127.0.0.1:#{port} ssl http2;\n" \
      "ssl_certificate_key #{scratch_dir}/tls.key;\nssl_certificate #{scratch_dir}/tls.pem;"
  end

  # Writes a certificate of localhost to NAME.pem, and its key to NAME.key, in the test's folder.
  def certify(name)
    output, status = Open3.capture2e(
      "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
      "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
      "-keyout", "#{scratch_dir}/#{name}.key", "-out", "#{scratch_dir}/#{name}.pem"
    )
    assert_predicate status, :success?, output
  end

  def listens?(port)
    TCPSocket.new("127.0.0.1", port).close
    true
  rescue Errno::ECONNREFUSED
    false
  end

  private

  def connections = @connections ||= []
  def servers = @servers ||= []
  def stores = @stores ||= []
  def back_ends = @back_ends ||= []
end
