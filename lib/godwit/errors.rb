# frozen_string_literal: true

module Godwit
  # Every error of Godwit includes this module: `rescue Godwit::Error` rescues them all. Each is
  # also an Errno error or an ArgumentError. {file:docs/errors.md} lists the classes.
  module Error
    # Defaults of constants that an error class may define. ATTRIBUTES: the attributes' defaults.
    # @private
    RETRIABLE = false
    # @private
    ERRNO = nil
    # @private
    ATTRIBUTES = {}.freeze

    # @return [Symbol, nil] the operation that failed, such as :bind
    attr_reader :operation
    # @return [String, nil] the endpoint of the operation
    attr_reader :endpoint
    # @return [Integer, nil] messages of a batch that were sent before the operation failed
    attr_reader :sent
    # @private
    attr_writer :sent

    # @param message [String, nil] the whole message
    # @param operation [String, Symbol, nil] the operation that failed
    # @param endpoint [String, nil] the endpoint of the operation
    # @param errno [Integer, nil] libzmq's errno
    # @param attributes [Hash] attributes that the error's class adds, such as `reason:`
    # @raise [ArgumentError] for an attribute that the class does not have
    def initialize(message = nil, operation: nil, endpoint: nil, errno: nil, **attributes)
      known = self.class::ATTRIBUTES
      unknown = attributes.keys - known.keys
      raise ::ArgumentError, "unknown keyword: #{unknown.first.inspect}" unless unknown.empty?
      known.each { |name, value| instance_variable_set(:"@#{name}", attributes.fetch(name, value)) }
      @text = message&.to_s
      @operation = operation&.to_sym
      @endpoint = endpoint
      @errno = errno
      message.nil? ? super() : super(message)
    end

    # @return [Integer, nil] libzmq's errno; nil where Godwit itself found the mistake
    def errno
      # mruby 3.3 knows the errno of the Errno classes only, not of their subclasses.
      is_a?(SystemCallError) ? self.class::Errno : (@errno || self.class::ERRNO)
    end

    # @return [Boolean] whether the same call may succeed later, with nothing changed
    def retriable? = self.class::RETRIABLE
    # @return [String] the message without a prefix of its Errno class ("Invalid argument - ")
    def to_s = @text || super
    # The class and the message, for pattern matching.
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

    # Ruby calls this method for `raise error, "other message"`.
    # @param message [String] at most one
    # @return [Exception] self, or a copy with another message
    def exception(*message)
      copy = super
      copy.instance_variable_set(:@text, message.first&.to_s) unless copy.equal?(self)
      copy
    end
  end

  # Included in the errors of nonblocking calls: a later call may succeed.
  module WouldBlock
    include Error
  end

  # Included in the classes that Godwit makes for errnos without an error class of their own. Each
  # is a subclass of its Errno class, such as Errno::ENOENT.
  module SystemError
    include Error
  end

  # Makes errors. The only function of the C extension that raises calls {.build}. api/errors.yml
  # has the texts of errnos and classes; {ErrorHints} has the fixes that depend on the socket.
  # @private
  module Errors
    # One row of api/errors.yml: the text and the fix of an error class or of an errno.
    class Rule
      # @return [Object, nil] the value of this name in the row
      attr_reader :klass, :errno, :text, :retriable, :fix

      def initialize(kind: Error, **facts)
        @kind = kind
        facts.each { |name, value| instance_variable_set(:"@#{name}", value) }
      end

      def applies_to?(number, operation)
        errno == number && (@only.nil? || @only.any? { |start| operation.start_with?(start) })
      end

      # Includes {Error} or {WouldBlock} in the class, and sets the constants that {Error} reads. A
      # subclass of an Errno class already has the errno as Ruby's constant Errno.
      def complete_class
        return unless klass
        klass.include(@kind)
        klass.const_set(:ATTRIBUTES, @attributes) if @attributes
        klass.const_set(:RETRIABLE, true) if retriable
        klass.const_set(:ERRNO, errno) if errno && !(klass < SystemCallError)
      end

      # @return [String, nil] the fix for the endpoint's transport
      def hint(endpoint)
        return fix unless fix.is_a?(Hash)
        fix[endpoint.to_s.split("://", 2).first] || fix["default"]
      end
    end

    # Makes an exception with its text from api/errors.yml (TABLE), ready to raise.
    # @param errno [Integer, Class] libzmq's errno, or the class of an error that Godwit found
    # @param operation [String, Symbol, nil] such as :bind; TABLE may have a text for it
    # @param detail [String, Diagnosis::Finding, nil] the fix, instead of TABLE's; "" for none.
    #   A finding also has the reason and the endpoint of a time-out
    def self.build(errno, operation = nil, endpoint = nil, detail = nil)
      return found(operation, endpoint, detail) if detail.respond_to?(:reason)
      rule = find(errno, operation.to_s)
      klass = errno.is_a?(Class) ? errno : rule&.klass || system_class(errno, rule)
      number = errno.is_a?(Class) ? rule&.errno : errno
      endpoint = without_credentials(Runtime.scrub(endpoint.to_s)).tr("\0", "?") if endpoint
      what = [operation, endpoint].compact.join(" ")
      hint = detail || rule&.hint(endpoint)
      text = rule&.text || words(number)
      text = "#{what}: #{text}" unless what.empty?
      text = "#{text} (#{without_credentials(hint)})" unless hint.nil? || hint.empty?
      klass.new(text, operation: operation, endpoint: endpoint, errno: number)
    end

    # @return [TimeoutError] its text names all endpoints; its `endpoint` is the finding's
    def self.found(operation, endpoints, finding)
      text = build(TimeoutError, operation, endpoints, finding.text).message
      TimeoutError.new(text, operation: operation, reason: finding.reason, why: finding.text,
        endpoint: without_credentials(finding.endpoint || endpoints), errno: TimeoutError::Errno)
    end

    # Hides passwords that users write into endpoints, although ZeroMQ's endpoints have none.
    # @return [String] with `***@` instead of `name:password@` after each `://`
    def self.without_credentials(text)
      return text unless text.include?("@")
      first, *rest = text.split("://", -1)
      rest.each_with_index do |piece, index|
        names, at, address = piece.partition("@")
        name, colon, _password = names.partition(":")
        secret = !at.empty? && !name.empty? && !colon.empty? && !names.include?("/")
        rest[index] = "***@#{address}" if secret
      end
      [first, *rest].join("://")
    end

    # Makes an exception with a text that is not in TABLE.
    def self.of(klass, operation, text) = klass.new("#{operation}: #{text}", operation: operation)

    # Finds the Rule. In TABLE, an errno's Rules for single operations stand before its general one.
    def self.find(errno, operation)
      return TABLE.find { |rule| rule.klass && errno <= rule.klass } if errno.is_a?(Class)
      TABLE.find { |rule| rule.applies_to?(errno, operation) }
    end

    def self.bad_value(operation, argument, allowed, value, secret: false)
      got = secret ? value.class : shown(value)
      of(ArgumentValueError, operation, "#{argument} takes #{allowed}: got #{got}")
    end

    def self.bad_type(operation, argument, allowed, value)
      of(ArgumentTypeError, operation, "#{argument} takes #{allowed}: got #{shown(value)}")
    end

    def self.check_positive(operation, argument, allowed, value)
      return if value.is_a?(Integer) && value.positive?
      raise bad_value(operation, argument, allowed, value)
    end

    def self.check_bytes(operation, name, value)
      check_positive(operation, name, "bytes, 1 or more", value)
    end

    def self.check_callable(operation, argument, value)
      return if value.nil? || value.respond_to?(:call)
      raise bad_type(operation, argument, "what can be called, or nil", value)
    end

    def self.open_already(operation, what, maker)
      build(StateError, operation, nil, "this #{what} is open already; #{maker} makes another")
    end

    def self.no_copy(what, fix)
      build(UnsupportedError, :dup, nil, "a #{what} cannot be copied: #{fix}")
    end

    def self.shown(value)
      return "nil" if value.nil?
      text = value.inspect
      "#{(text.size > 60) ? "#{text[0, 57]}..." : text} (#{value.class})"
    end

    def self.words(errno) = errno ? Runtime.strerror(errno) : "Failed"

    # Stores each class in a constant: all Ractors can read constants, but not a Hash that changes.
    # @return [Class] a subclass of the errno's class, with {SystemError} included
    def self.system_class(errno, rule)
      base = Runtime.errno_class(errno)
      name = base.equal?(SystemCallError) ? "E#{errno}" : base.name.split("::").last
      return SystemError.const_get(name) if SystemError.const_defined?(name, false)
      klass = Class.new(base) { include SystemError }
      klass.const_set(:Errno, errno) if base.equal?(SystemCallError)
      klass.const_set(:RETRIABLE, true) if rule&.retriable
      SystemError.const_set(name, klass)
    end
  end
end
