# frozen_string_literal: true

module Godwit
  # In every error that Godwit raises: `rescue Godwit::Error` takes them all, `rescue
  # Errno::EADDRINUSE` or `rescue ArgumentError` those that are one. Which class when:
  # {file:docs/errors.md}.
  module Error
    # Defaults; each class that differs has its own.
    # @private
    RETRIABLE = false
    # @private
    ERRNO = nil

    # @return [Symbol, nil] what was tried, such as :bind
    attr_reader :operation
    # @return [String, nil] the endpoint it was tried on
    attr_reader :endpoint
    # @return [Integer, nil] how many messages had gone when a batch failed
    attr_reader :sent
    # @private
    attr_writer :sent

    # @param message [String, nil] the whole message
    # @param operation [String, Symbol, nil] what was tried
    # @param endpoint [String, nil] on which endpoint
    # @param errno [Integer, nil] libzmq's errno
    def initialize(message = nil, operation: nil, endpoint: nil, errno: nil)
      @text = message&.to_s
      @operation = operation&.to_sym
      @endpoint = endpoint
      @errno = errno
      message.nil? ? super() : super(message)
    end

    # @return [Integer, nil] libzmq's errno, nil where Godwit itself found the mistake
    def errno
      # An errno class knows its own; the others are given theirs.
      defined?(super) ? super : (@errno || self.class::ERRNO)
    end

    # @return [Boolean] whether the same call may go through later, with nothing changed
    def retriable?
      self.class::RETRIABLE
    end

    # @return [String] the message; without the "words - " that Ruby puts before that of an errno
    #   class
    def to_s
      @text || super
    end

    # For pattern matching.
    # @return [Array] class, message
    def deconstruct = [self.class, message]

    # @param _keys [Array<Symbol>, nil]
    # @return [Hash] `message:`, `operation:`, `endpoint:`, `errno:`, `sent:`, `retriable:`
    def deconstruct_keys(_keys)
      {
        message: message, operation: operation, endpoint: endpoint, errno: errno, sent: sent,
        retriable: retriable?
      }
    end

    # Ruby calls this for `raise error, "other message"`.
    # @param message [String] at most one
    # @return [Exception] self, or a copy with another message
    def exception(*message)
      copy = super
      copy.instance_variable_set(:@text, message.first&.to_s) unless copy.equal?(self)
      copy
    end
  end

  # In what the nonblocking calls raise: a later try may go through.
  module WouldBlock
    include Error
  end

  # In the errors that have no class of their own: each is a subclass of its Errno class, such as
  # Errno::ENOENT.
  module SystemError
    include Error
  end

  # Makes errors. The C extension's one function that raises calls {.build}.
  # @private
  module Errors
    # What the table says: of one class (with its errno, if it has one) or of one more errno.
    Rule = Struct.new(:klass, :errno, :only, :text, :retriable, :fix, keyword_init: true) do
      def applies_to?(number, operation)
        errno == number && (only.nil? || only.any? { |start| operation.start_with?(start) })
      end

      # @return [String, nil] the hint that fits the endpoint's transport
      def hint(endpoint)
        return fix unless fix.is_a?(Hash)
        fix[endpoint.to_s[/\A\w+(?=:\/\/)/]] || fix["default"]
      end
    end

    # A user name and password have no place in an endpoint, but people try.
    CREDENTIALS = %r{(?<=://)[^/@:]+:[^/@]*@}
    private_constant :CREDENTIALS

    module_function

    # Makes the exception for an errno of libzmq, ready to raise.
    # @param errno [Integer, Class] the errno, or the class of an error that Godwit found itself
    # @param operation [String, Symbol, nil] such as :bind, :recv or :set; the errno may mean
    #   different things
    # @param endpoint [String, nil] the endpoint, if one was given
    # @param detail [String, nil] what to do, instead of the table's hint; "" for no hint
    # @return [Exception] including {Error}
    def build(errno, operation = nil, endpoint = nil, detail = nil)
      rule = find(errno, operation.to_s)
      klass = errno.is_a?(Class) ? errno : rule&.klass || system_class(errno, rule)
      number = errno.is_a?(Class) ? rule&.errno : errno
      endpoint = endpoint&.to_s&.scrub("?")&.gsub(CREDENTIALS, "***@")&.tr("\0", "?")
      what = [operation, endpoint].compact.join(" ")
      hint = (detail || rule&.hint(endpoint))&.gsub(CREDENTIALS, "***@")
      text = +""
      text << what << ": " unless what.empty?
      text << (rule&.text || words(number))
      text << " (" << hint << ")" unless hint.nil? || hint.empty?
      klass.new(text, operation: operation, endpoint: endpoint, errno: number)
    end

    # @return [Rule, nil] of a class, or of an errno; the first that fits, as the table has those
    #   for some operations before the rest
    def find(errno, operation)
      return TABLE.find { |rule| rule.klass && errno <= rule.klass } if errno.is_a?(Class)
      TABLE.find { |rule| rule.applies_to?(errno, operation) }
    end

    # @param argument [String] its name, such as "count:"
    # @param allowed [String] what it takes, in words
    # @param value [Object] what came; not shown where `secret`
    # @return [ArgumentValueError]
    def bad_value(operation, argument, allowed, value, secret: false)
      ArgumentValueError.new(
        "#{operation}: #{argument} takes #{allowed}: got #{secret ? value.class : shown(value)}",
        operation: operation
      )
    end

    # @param name [String] such as "in_bytes:"
    # @raise [ArgumentValueError] unless the value is an Integer, 1 or more
    def check_bytes(operation, name, value)
      return if value.is_a?(Integer) && value.positive?
      raise bad_value(operation, name, "bytes, 1 or more", value)
    end

    # @return [ArgumentTypeError]
    # @see bad_value
    def bad_type(operation, argument, allowed, value)
      ArgumentTypeError.new(
        "#{operation}: #{argument} takes #{allowed}: got #{shown(value)}", operation: operation
      )
    end

    # @return [String] a value and its class, cut short
    def shown(value)
      return "nil" if value.nil?
      text = value.inspect
      "#{(text.size > 60) ? "#{text[0, 57]}..." : text} (#{value.class})"
    end

    # @return [String] what the C library calls the errno
    def words(errno)
      errno ? SystemCallError.new(nil, errno).message : "Failed"
    end

    # Made once per errno and kept as a constant, since a Ractor may read that but no Hash of ours.
    # @return [Class] the errno's class with {SystemError} in it
    def system_class(errno, rule)
      base = SystemCallError.new(nil, errno).class
      name = base.equal?(SystemCallError) ? "E#{errno}" : base.name[/\w+\z/]
      return SystemError.const_get(name, false) if SystemError.const_defined?(name, false)
      klass = Class.new(base) { include SystemError }
      klass.const_set(:Errno, errno) if base.equal?(SystemCallError)
      klass.const_set(:RETRIABLE, true) if rule&.retriable
      SystemError.const_set(name, klass)
    end
  end
end

require_relative "generated/errors"
