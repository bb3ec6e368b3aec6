# frozen_string_literal: true

# `godwit-edge test` evaluates this file as it evaluates an app's file. This file then runs the
# tests in the file that $GODWIT_EDGE_TESTS names. nginx's workers do not load this file.
module Edge
  # A failed assertion of a test. It is no StandardError, so that a plain `rescue` in an app does
  # not catch it.
  class AssertionError < Exception # standard:disable Lint/InheritException
  end

  # A request that {Edge.call} makes.
  # @private
  class TestRequest
    ENV = {
      "SCRIPT_NAME" => "", "SERVER_NAME" => "localhost", "SERVER_PORT" => "80",
      "SERVER_PROTOCOL" => "HTTP/1.1", "SERVER_SOFTWARE" => "nginx",
      "REMOTE_ADDR" => "127.0.0.1", "rack.url_scheme" => "http", "HTTP_HOST" => "localhost"
    }.freeze
    WITHOUT_BODY = [204, 304].freeze
    @made = 0

    def self.number = @made += 1

    def initialize(method, target, headers, body)
      @method = method.to_s.upcase
      raise TypeError, "a body is a String, or nil" unless body.nil? || body.is_a?(String)
      path, _, query = target.partition("?")
      decoded = Edge._path(path) if path.start_with?("/")
      raise ArgumentError, "the path #{target.inspect} is not one of HTTP" unless decoded
      @env = ENV.merge("REQUEST_METHOD" => @method, "PATH_INFO" => decoded, "QUERY_STRING" => query,
        "REQUEST_URI" => target, "rack.input" => body ? Input.new(body) : Input::EMPTY,
        "edge.request_id" => "%032x" % TestRequest.number)
      @env["CONTENT_LENGTH"] = body.bytesize.to_s if body
      headers.each { |name, value| header(name.to_s.upcase.tr("-", "_"), value) }
    end

    # @return [Response]
    def run(app)
      status, headers, body = app.call(@env)
      parts = body.is_a?(Array) ? body : Entry.__send__(:parts, body)
      Edge._check(status, headers, parts)
      silent = @method == "HEAD" || WITHOUT_BODY.include?(status)
      Response.new(status, by_name(headers), silent ? "" : parts.join)
    rescue AssertionError => error
      raise error
    rescue Exception => error # standard:disable Lint/RescueException -- answered as in a worker
      failed(error)
    end

    private

    def header(name, value)
      separator = (name == "COOKIE") ? "; " : ", "
      name = "HTTP_#{name}" unless %w[CONTENT_TYPE CONTENT_LENGTH].include?(name)
      @env[name] = [*value].join(separator)
    end

    def by_name(headers)
      found = {}
      headers.each do |name, value|
        lines = [*found[name.downcase], *value].map { |line| line.to_s }
        next if lines.empty?
        found[name.downcase] = (lines.size == 1) ? lines[0] : lines
      end
      found
    end

    def failed(error)
      _, status, word = Failure.row_of(error)
      Edge._log(Failure.describe(error))
      body = {"error" => word}
      body["offset"] = error.offset if error.is_a?(BadRequest)
      Response.new(status, {"content-type" => "application/json"}, JSON.generate(body))
    end
  end

  # Runs a file of tests, and prints which tests have failed.
  # @private
  module Tests
    ALL = [] # [name, block] of each test

    class << self
      attr_reader :app

      # @return [Boolean] whether all tests have passed
      def run(main, path)
        @main = main
        folder(File.dirname(path))
        Apps.run_file(main, path)
        raise Error, "#{path} has no test: write test(\"name\") { … }" if ALL.empty?
        failed = 0
        ALL.each { |name, block| failed += 1 unless passes?(name, block) }
        puts "#{ALL.size} test#{"s" unless ALL.size == 1}, #{failed} failed"
        failed == 0
      rescue Exception => error # standard:disable Lint/RescueException -- logged
        Edge._log(describe(error))
        false
      end

      # While the app's file runs, `require` searches the folder of that file. Afterwards `require`
      # searches the folder of the file of tests.
      def load_app(name)
        path = File.expand_path(name.end_with?(".rb") ? name : "#{name}.rb", @folder)
        raise LoadError, "cannot load #{name}: there is no #{path}" unless File.file?(path)
        @app = Apps.__send__(:evaluate, Edge._app, path)
        nil
      ensure
        folder(@folder)
      end

      private

      def folder(path)
        @folder = path
        Apps::FOLDERS[Edge._app] = path
        Apps::MAINS[Edge._app] = @main
      end

      def passes?(name, block)
        block.call
        true
      rescue Exception => error # standard:disable Lint/RescueException -- printed
        puts "#{name}: #{describe(error)}"
        false
      end

      # @return [String] the error's class (except AssertionError), message and file:line
      def describe(error)
        text = error.is_a?(AssertionError) ? error.message : "#{error.class}: #{error.message}"
        # mruby's message of a SyntaxError is: file NAME line NUMBER: syntax error
        return text.sub("file ", "").sub(" line ", ":") if error.is_a?(SyntaxError)
        line = (error.backtrace || []).find { |one|
          !one.start_with?(__FILE__) && !Edge._own(one)
        }
        line ? "#{text} (#{line.split(":in ")[0]})" : text
      end
    end
  end

  class << self
    # Sends a request to the app that the file of tests has loaded. The app runs in the caller's
    # fiber.
    # @param method [String, Symbol]
    # @param path [String] begins with "/"; may have a query
    # @param headers [Hash{String => String, Integer, Array}] of the request
    # @param body [String, nil] of the request
    # @return [Response] with the app's headers; also a response if the app raises an error
    # @raise [ArgumentError, TypeError] an invalid path or body
    # @raise [Error] the file has not named its app
    def call(method, path, headers: {}, body: nil)
      raise Error, "Edge.call has no app: write app \"./FILE\" before" unless Tests.app
      TestRequest.new(method, path, headers, body).run(Tests.app)
    end
  end
end

class << self
  # Loads an app's file, as a worker does. {Edge.call} sends requests to the app that was loaded
  # last.
  # @param name [String] relative to the file of tests; ".rb" may be omitted
  # @return [nil]
  # @raise [LoadError, Edge::Error] there is no file, or no app in it
  def app(name) = Edge::Tests.load_app(name)

  # @param name [String]
  # @yield the test, which passes unless the block raises
  def test(name, &block)
    raise ArgumentError, "test #{name.inspect} has no block" unless block
    Edge::Tests::ALL << [name, block]
  end

  # @param value [Object] the assertion fails if the value is nil or false
  # @param message [String] of the failure
  def assert(value, message = "#{value.inspect} is not true")
    raise Edge::AssertionError, message unless value
  end

  # @param expected [Object] the assertion fails unless expected == actual
  # @param actual [Object]
  def assert_equal(expected, actual)
    assert expected == actual, "expected #{expected.inspect}, got #{actual.inspect}"
  end

  # @param error [Class] the assertion fails if the block does not raise this class
  # @return [Exception] the error
  def assert_raises(error)
    yield
  rescue error => raised
    raised
  else
    raise Edge::AssertionError, "expected #{error}, nothing was raised"
  end
end

Edge._started(Edge._app, Edge::Tests.run(self, Edge._environment("GODWIT_EDGE_TESTS")))
