# frozen_string_literal: true

# Runs scenario files on mruby: `mruby-godwit test/mruby/plain.rb run HELPERS FILES`, where HELPERS
# is test/conformance/plain/support/helpers.rb; `list` prints the scenarios' names.
# test/conformance/plain_test.rb runs them on CRuby.
module Plain
  TRANSPORTS = %i[tcp inproc].freeze
  DEADLINE = 30 # seconds that an `eventually` waits at most

  Failure = Class.new(StandardError)
  SCENARIOS = [] # standard:disable Style/MutableConstant -- scenario files add to it

  def self.scenario(name, &body) = SCENARIOS << [name, [], body]

  def self.each_transport(name, &body)
    TRANSPORTS.each do |transport|
      SCENARIOS << ["#{name} over #{transport}", [transport], body]
    end
  end
end

# This eval is at the top level: inside a module it would define the helpers in that module.
eval(File.read(ARGV[1]), nil, ARGV[1]) # standard:disable Security/Eval

module Plain
  # The assertions that CRuby's tests have from minitest.
  module Assertions
    attr_reader :assertions

    def assert(value, message = "not true")
      @assertions += 1
      raise Failure, message unless value
      value
    end

    def flunk(message) = assert(false, message)

    def assert_equal(expected, actual, message = nil)
      assert(expected == actual,
        "#{"#{message}: " if message}expected #{expected.inspect}, got #{actual.inspect}")
    end

    def assert_nil(actual, message = nil) = assert_equal(nil, actual, message)

    # Name of an assertion => whether the assertion holds for its arguments.
    {
      refute_equal: ->(value, object) { value != object },
      assert_same: ->(value, object) { value.equal?(object) },
      assert_empty: ->(object) { object.empty? },
      assert_includes: ->(object, value) { object.include?(value) },
      refute_includes: ->(object, value) { !object.include?(value) },
      assert_kind_of: ->(klass, object) { object.is_a?(klass) },
      assert_instance_of: ->(klass, object) { object.instance_of?(klass) },
      assert_predicate: ->(object, name) { object.__send__(name) },
      refute_predicate: ->(object, name) { !object.__send__(name) }
    }.each do |assertion, holds|
      define_method(assertion) do |*values|
        assert(holds.call(*values), "#{assertion} #{values.inspect}")
      end
    end

    def assert_raises(klass, message = nil)
      begin
        yield
      rescue klass => error
        @assertions += 1
        return error
      end
      raise Failure, "#{"#{message}: " if message}expected #{klass}, and nothing was raised"
    end
  end

  # One run of a scenario. `close` closes the objects that the scenario has passed to `own`.
  class Run
    include Assertions
    include Helpers

    @serial = 0
    class << self
      attr_accessor :serial
    end

    def initialize
      @assertions = 0
      @owned = []
    end

    def context = @context ||= Godwit::Context.new

    def own(closable)
      @owned << closable
      closable
    end

    def open_socket(type, **options)
      own(Godwit.const_get(type).new(context: context, **options))
    end

    def open_poller(*things) = own(Godwit::Poller.new(*things))

    def pipe = IO.pipe.each { |io| own(io) }

    def endpoint_for(transport)
      return "tcp://127.0.0.1:*" if transport == :tcp
      "inproc://plain-#{Run.serial += 1}"
    end

    def connected_pair(
      binder, connector, transport: :tcp, bind_options: {}, connect_options: {}, **options
    )
      bound = open_socket(binder, **options.merge(bind_options)).bind(endpoint_for(transport))
      [bound, open_socket(connector, **options.merge(connect_options)).connect(bound.last_endpoint)]
    end

    def eventually
      start = Godwit::Timeout.now
      pause = open_poller
      until (result = yield)
        raise Failure, "not within #{DEADLINE} s" if Godwit::Timeout.now - start > DEADLINE
        pause.wait(0.005)
      end
      result
    end

    def close
      @owned.each do |one|
        next if one.closed?
        one.linger = 0.02 if one.is_a?(Godwit::Socket) && one.context.usable?
        one.close
      end
      @context&.close
    end
  end

  def self.list = SCENARIOS.each { |name, _, _| puts name }

  # Prints a line for each scenario: its name, a tab, then "ok" and its assertions, or the error.
  def self.run
    failed = 0
    SCENARIOS.each do |name, arguments, body|
      one = Run.new
      begin
        one.instance_exec(*arguments, &body)
        raise Failure, "asserted nothing" if one.assertions == 0
        puts "#{name}\tok #{one.assertions}"
      rescue => error
        failed += 1
        puts "#{name}\t#{[error.message, error.class.to_s, *error.backtrace].join(" | ")}"
      end
      one.close
    end
    raise "#{failed} of #{SCENARIOS.size} scenarios failed" if failed > 0
  end
end

ARGV[2..].each { |path| eval(File.read(path), nil, path) } # standard:disable Security/Eval
(ARGV.first == "list") ? Plain.list : Plain.run
