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

# A test of the edge: nginx with our module in front of app files, on free ports of 127.0.0.1.
class EdgeCase < Godwit::TestCase
  MISSING = EdgeBuild.missing

  # An app that evaluates a request's body. Its answer is the JSON of the value, or of the error.
  EVALUATES = <<~'RUBY'
    LOG = []
    def outcome
      yield
    rescue ScriptError, StandardError => error
      "#{error.class}: #{error.message}"
    end
    run ->(env) { [200, {}, [JSON.generate(outcome { eval(env["rack.input"].read) })]] }
  RUBY

  # A separate instance of the class, which runs no test, owns the server that the class's tests
  # share; its {#end_shared} ends the server after the last test.
  def self.owner = @owner ||= new("owner")

  def self.run(...)
    super
  ensure
    @owner&.end_shared
  end

  # @return [String] path of the module
  def self.built = @@built ||= ENV["GODWIT_EDGE_MODULE"] || EdgeBuild.new.build

  def setup
    skip MISSING if MISSING
  end

  # No test leaves a line of level alert or worse in nginx's error log.
  def before_teardown
    connections.each(&:close)
    servers.each(&:stop)
    [*stores, *back_ends].each(&:kill)
    bad = [*servers, *@shared].flat_map { |server| server.log.lines.grep(/\[(alert|crit|emerg)\]/) }
    assert_empty bad unless @alerts_expected
    super
  end

  # @param source [String, Hash{String => String}] an app's file for "/", or one for each location
  # @param conf [String] more lines of http{}
  # @param server [String] more lines of server{}
  # @param workers [Integer]
  # @param listen [String] parameters of the port
  # @param env [Hash{String => String}] such as REDIS_URL
  # @return [EdgeServer] @server, which accepts connections
  def edge(source, **options)
    sources = source.is_a?(Hash) ? source : {"/" => source}
    one = EdgeServer.new(self, "#{scratch_dir}/edge-#{servers.size}", self.class.built, sources,
      **options)
    servers << one
    @server = one.start
  end

  # Starts {EVALUATES}, after more code.
  def evaluate(code = "", **options) = edge(code + EVALUATES, **options)

  # @return [Object] the value of code that {EVALUATES} evaluates
  def ask(code, headers = {}, path: "/")
    JSON.parse(@server.post(path, code, headers).body)
  end

  # (see #edge)
  # @return [EdgeServer] the same for all tests of the class: a start costs 0.1 s of the processor
  def shared_edge(...) = @server = @shared = self.class.owner.first_edge(...)

  # @private
  def first_edge(...) = servers.first || edge(...)

  # @private
  def end_shared
    servers.each(&:stop)
    clean_up
  end

  # @param options [Array<String>] of redis-server
  # @return [RedisServer] that accepts connections
  def redis(*options)
    RedisServer.new(self, "#{scratch_dir}/redis-#{stores.size}", *options).tap { |one|
      stores << one
    }
  end

  # (see BackEnd#initialize)
  # @return [BackEnd] that is bound
  def back_end(...) = BackEnd.new(self, ...).tap { |one| back_ends << one }

  # @param path [String, nil] of a request that leaves at once (EdgeConnection#ask)
  # @return [EdgeConnection] closed before nginx ends, which would wait for it
  def connection(path = nil, port: @server.port, **request)
    EdgeConnection.new(port).tap do |one|
      connections << one
      one.ask(path, **request) if path
    end
  end

  # For a test whose subject is a fault of the worker.
  def expect_alerts = @alerts_expected = true

  # @return [String] lines of server{} that serve TLS and HTTP/2 at this port
  def tls(port)
    certify("tls")
    "listen 127.0.0.1:#{port} ssl http2;\n" \
      "ssl_certificate_key #{scratch_dir}/tls.key;\nssl_certificate #{scratch_dir}/tls.pem;"
  end

  # Makes a certificate of localhost in NAME.pem, and its key in NAME.key, in the test's folder.
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
