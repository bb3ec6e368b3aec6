# frozen_string_literal: true

module Godwit
  # The options of libzmq, from api/options.yml, which has their defaults too. {SOCKET} and
  # {CONTEXT} have them by name; {file:docs/options.md} lists them. Users read and set them by
  # methods of Socket and Context: accessors, `get` and `set`.
  module Options
    # One option: its facts, and the conversion of its values to and from libzmq's. An Option is
    # frozen and shareable between Ractors.
    class Option
      # The default of each fact; api/options.yml states a fact only if it differs.
      DEFAULTS = {
        name: nil, const: nil, also: [], id: nil, scope: :socket, since: "2.0", type: :int,
        unit: nil, min: nil, max: nil, step: 1, format: nil, format_means: nil, values: nil,
        none: nil, none_means: nil, none_reads: false, default: nil, default_of: {}, godwit: nil,
        access: :rw, types: nil, live: false, fixed: false, draft: false, gated: false, needs: nil,
        secret: false, by_hand: false, doc: nil
      }.freeze
      # @return [Object, nil] the fact of this name in api/options.yml
      attr_reader :name, :const, :also, :id, :scope, :since, :type, :unit, :min, :max, :step,
        :format, :format_means, :values, :none, :none_means, :none_reads, :default, :default_of,
        :godwit, :access, :types, :needs, :doc

      # The oldest libzmq that Godwit runs on: its options need no check of the version.
      OLDEST = [4, 3, 0].freeze

      # @private
      def initialize(**facts)
        DEFAULTS.each do |name, default|
          instance_variable_set(:"@#{name}", facts.fetch(name, default))
        end
        @version = @since.split(".").map(&:to_i)
        @version << 0 while @version.size < 3
        freeze
      end

      # @return [Boolean] whether `get` works for the option
      def readable? = access != :w
      # @return [Boolean] whether `set` works for the option
      def writable? = access != :r
      # @return [Boolean] whether zmq.h lists the option as a draft
      def draft? = @draft
      # @return [Boolean] whether only a libzmq built with drafts has the option
      def gated? = @gated
      # @return [Boolean] whether the option cannot change after the first bind or connect
      def fixed? = @fixed
      # @return [Boolean] whether a new value takes effect at once; else at the next bind or connect
      def live? = @live
      # @return [Boolean] whether the option's value must not be in `inspect` and in errors
      def secret? = @secret
      # @return [Boolean] whether the option's methods are written by hand
      def by_hand? = @by_hand

      # Checks a value and converts it for libzmq.
      # @param value [Object]
      # @param socket_type [Symbol, nil] :REQ and so on; nil: any type
      # @return [Integer, String, nil] Integer, or binary String, or nil for an empty value (NULL)
      # @raise [OptionError] when the option cannot be set, is not for the socket type, or does not
      #   accept the value
      # @raise [CurveKeyError] when the value is a malformed CURVE key
      # @raise [UnsupportedError] when this libzmq does not have the option
      def encode(value, socket_type = nil)
        check_supported
        raise error("can only be read") unless writable?
        check_type(socket_type)
        Values.encode(self, value)
      end

      # @param raw [Integer, String] libzmq's value
      # @return [Object] the user's value
      def decode(raw) = Values.decode(self, raw)

      # Checks that the option can be read.
      # @param socket_type [Symbol, nil] :REQ and so on; nil: any type
      # @return [self]
      # @raise [OptionError] when the option cannot be read, or is not for the socket type
      # @raise [UnsupportedError] when this libzmq does not have the option
      def check_readable(socket_type = nil)
        check_supported
        raise error("can only be set") unless readable?
        check_type(socket_type) unless writable?
        self
      end

      # @param socket_type [Symbol, nil] :REQ and so on
      # @return [Boolean] whether sockets of the type accept the option
      def for_type?(socket_type) = types.nil? || socket_type.nil? || types.include?(socket_type)

      # @param version [String, nil] version of a libzmq; nil: the running one
      # @param features [#call, nil] tells whether that libzmq was built with :draft, :curve and so
      #   on; nil: the features of the running one
      # @return [self]
      # @raise [UnsupportedError] when that libzmq does not have the option
      def check_supported(version = nil, features = nil)
        return self unless gated? || needs || (@version <=> OLDEST).positive?
        version ||= Godwit.libzmq_version
        features ||= ->(feature) { Godwit.has?(feature) }
        problem =
          if (@version <=> version.split(".").map(&:to_i)).positive?
            "libzmq #{since} or newer#{" built with drafts" if gated?}; this is #{version}"
          elsif gated? && !features.call(:draft)
            "a libzmq built with drafts (since #{since}), and not over FFI; this is #{version}"
          elsif needs && !features.call(needs)
            "a libzmq built with #{needs}; this #{version} is not"
          end
        raise error("needs #{problem}", UnsupportedError) if problem
        self
      end

      # @return [Boolean] whether the running libzmq has the option
      def supported?
        check_supported
        true
      rescue UnsupportedError
        false
      end

      # @return [String] the allowed values, in words
      def allowed = Values.allowed(self)
      # @return [String]
      def inspect = "#<#{self.class} #{scope} #{name} ZMQ_#{const}>"
      alias_method :to_s, :inspect

      # @private
      def error(problem, klass = OptionError)
        klass.new("option #{name} (ZMQ_#{const}) #{problem}", operation: :option)
      end

      # @private
      # @return [OptionError] names the allowed values, and the value (if secret, only its class)
      def refusal(value)
        klass = (type == :key && value.is_a?(String)) ? CurveKeyError : OptionError
        error("takes #{allowed}, not #{describe(value)}", klass)
      end

      # @private
      # Calls the block, which sets `value` in libzmq. If libzmq refuses, the error names the value.
      def hand_over(value)
        refused = false
        begin
          yield
        rescue OptionError
          refused = true # raised below: here libzmq's error would become its cause
        end
        raise error("takes #{allowed}: libzmq refuses #{describe(value)}") if refused
      end

      private

      def check_type(socket_type)
        return if for_type?(socket_type)
        raise error("is for #{types.join(", ")} sockets, not for #{socket_type}")
      end

      def describe(value)
        return Errors.shown(value) if value.nil? || !(secret? || type == :key)
        value.is_a?(String) ? "a String of #{value.bytesize} bytes" : value.class.to_s
      end
    end

    # Names that users try although no option has such a name, and what the users may mean.
    GUESSES = Runtime.shareable({
      hwm: "send_hwm:, recv_hwm:", high_water_mark: "send_hwm:, recv_hwm:",
      timeout: "send_timeout:, recv_timeout:", topic: "subscribe:", topics: "subscribe:",
      filter: "subscribe:", keepalive: "tcp_keepalive:", reconnect: "reconnect_interval:",
      bind: "the method, as in Godwit::PULL.bind(\"tcp://…\")",
      connect: "the method, as in Godwit::PUSH.connect(\"tcp://…\")"
    })
    private_constant :GUESSES

    # @param name [Symbol, String] such as :send_hwm
    # @param scope [Symbol] :socket or :context
    # @return [Option] of that name
    # @raise [OptionError] when there is none; the text names similar ones and the list of options
    def self.fetch(name, scope = :socket)
      table = (scope == :context) ? CONTEXT : SOCKET
      option = table[name] || (name.is_a?(String) && table[name.to_sym])
      return option if option
      list = "docs/options.md lists them, and so does Godwit::Options::#{scope.upcase}.keys"
      text = "unknown #{scope} option #{name.inspect}#{guess(table, name)} (#{list})"
      raise OptionError.new(text, operation: :option)
    end

    # @param name [Symbol, String]
    # @return [Option] a socket option
    # @see fetch
    def self.socket(name) = fetch(name)
    # @param name [Symbol, String]
    # @return [Option] a context option
    # @see fetch
    def self.context(name) = fetch(name, :context)

    # @private
    # @return [Boolean] whether `name` is no option, but a key of {GUESSES}
    def self.guessed?(name) = GUESSES.key?(name)

    # @private
    # @return [String, nil] the fix for an unknown name
    def self.guess(table, name)
      name = name.to_s.to_sym
      meant = GUESSES[name]
      if table.equal?(SOCKET)
        return "; the context has it: Context.new(#{name}: …)" if CONTEXT.key?(name)
      elsif SOCKET.key?(name) || meant&.end_with?(":")
        return "; sockets have it: Context.new(socket_options: {#{meant || "#{name}:"} …})"
      end
      near = meant || nearest(table, name.to_s)
      "; did you mean #{near}?" if near
    end

    # @private
    # @return [Symbol, nil] the option with that name in libzmq, or with a similar name
    def self.nearest(table, name)
      const = name.upcase.delete_prefix("ZMQ_")
      same = table.each_value.find do |option|
        option.const.delete("_") == const.delete("_") || option.also.include?(const)
      end
      same ? same.name : Runtime.similar(name, table.keys)
    end
  end
end
