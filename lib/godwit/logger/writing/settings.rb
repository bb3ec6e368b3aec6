# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The options of a logger with an endpoint, checked once. Clones and forked children share them.
    class Settings
      OVERFLOWS = %i[drop_new drop_old block spool].freeze
      WIRES = %i[records plain].freeze
      QUEUE = 100_000
      QUEUE_BYTES = 16 << 20
      # libzmq would refuse these transports for a PUSH only when the first record is sent.
      NOT_FOR_PUSH = %w[udp: pgm: epgm: norm:].freeze
      # Frames of so many bytes or more are sent in place, and the writer counts their bytes.
      LARGE = 8_192
      FRAMES = LoggerConstants::FRAMES # frames of a record
      LONGEST = 2_000_000 # most seconds (23 days): libzmq's linger has 31 bits of milliseconds

      def initialize(endpoint, overflow: :drop_new, queue: QUEUE, queue_bytes: QUEUE_BYTES,
        block_timeout: nil, linger: Context::DEFAULT_LINGER, wire: :records, host: nil, bind: false,
        context: nil, spool: nil, spool_bytes: nil, durable: nil, durable_bytes: nil, fsync: false,
        curve: nil, server_key: nil, plain: nil, auth: nil, **options)
        check_ractor
        @endpoint = check_endpoint(endpoint, bind ? :bind : :connect)
        @bind = bind ? true : false
        @pid = Process.pid
        @overflow = one_of(OVERFLOWS, "overflow:", overflow)
        @wire = one_of(WIRES, "wire:", wire)
        @queue = count("queue:", queue)
        @queue_bytes = count("queue_bytes:", queue_bytes)
        block_timeout = seconds("block_timeout:", block_timeout, nil_allowed: true)
        @block_timeout = block_timeout unless block_timeout && block_timeout > LONGEST
        @linger = [seconds("linger:", linger), LONGEST].min
        @host = Text.cut((host || ::Socket.gethostname).to_s.dup, Text::MAX_NAME).freeze
        @context = context
        wanted = "a Godwit::Context, or nil for one of its own"
        bad_type("context:", wanted, context) unless context.nil? || context.is_a?(Context)
        @spool, @spool_bytes = spool, spool_bytes
        @durable, @durable_bytes, @fsync = durable, durable_bytes, fsync
        @context ||= Godwit.context if auth # an Auth belongs to one context
        check_disk
        security = {curve: curve, server_key: server_key, plain: plain, auth: auth}.compact
        @options = {**security, send_hwm: hwm, copy_threshold: LARGE, **options}
        check_options(options)
        freeze
      end

      attr_reader :endpoint, :pid, :overflow, :wire, :queue, :queue_bytes, :block_timeout, :linger,
        :host, :context, :options, :spool, :spool_bytes, :durable, :durable_bytes, :fsync

      # Most bytes in the queue: half of queue_bytes:. The sender has at most an eighth, and libzmq
      # the rest: an eighth for large frames, a quarter for messages up to the high-water mark.
      def queue_byte_limit = (@queue_bytes / 2.0).ceil
      def large_bytes = @queue_bytes / 8
      def bind? = @bind
      def inproc? = @endpoint.start_with?("inproc:")
      # @return [Context, nil] nil: the socket gets a context of its own, as in a forked child,
      #   where the given context is not usable
      def shared_context = @context&.usable? ? @context : (Godwit.context if inproc?)
      def plain? = @wire == :plain

      def at(endpoint)
        copy = dup
        copy.instance_variable_set(:@endpoint, check_endpoint(endpoint, bind? ? :bind : :connect))
        copy.freeze
      end

      private

      def hwm = (@queue_bytes / 4 / (FRAMES * LARGE)).clamp(1, 1000)

      # The at_exit block, which sends the remaining records, runs in the main Ractor.
      def check_ractor
        return if Runtime.main_ractor?
        raise Errors.build(UnsupportedError, :logger, nil,
          "a logger lives in the main Ractor only: send it what is to be logged")
      end

      def check_endpoint(endpoint, operation)
        endpoint = Endpoint.with_host(endpoint) if endpoint.is_a?(::String)
        checked = Endpoint.check(endpoint, operation).dup.force_encoding(Encoding::UTF_8).freeze
        return checked unless checked.start_with?(*NOT_FOR_PUSH)
        raise Errors.build(ProtocolError, operation, endpoint, "records go over tcp, ipc or inproc")
      rescue EndpointError, ProtocolError => error
        text = "logger: no endpoint: #{endpoint.inspect}; one is \"tcp://loghost:7000\" "
        raise ArgumentValueError.new("#{text}(#{error.message})", operation: :logger), cause: nil
      end

      # Rejects an option that would have no effect, since the program relies on the option.
      def check_disk
        spool = @overflow == :spool
        bad("spool:", "a folder, as overflow: :spool wants one", @spool) if spool && @spool.nil?
        bad("overflow: with spool:", ":spool", @overflow) if @spool && !spool
        @spool = check_folder("spool:", @spool, @spool_bytes) if @spool
        return check_durable if @durable
        text = "false: nothing else is written to the disk before the call returns"
        bad("fsync: without durable:", text, @fsync) if @fsync
      end

      # Without this check, the socket would refuse an option only when the first record is sent.
      def check_options(options)
        check_family(options)
        options.each { |name, value| Options.fetch(name).encode(value, :PUSH) }
        given = Godwit::Socket::Security.options(*@options.values_at(:curve, :server_key, :plain))
        check_auth(@options[:auth], {**options, **given}) if @options.key?(:auth)
      end

      def check_family(options)
        return if !Endpoint.ipv6?(@endpoint) || options.fetch(:ipv6) { @context&.ipv6 }
        raise Errors.build(InterfaceError, :logger, @endpoint, ErrorHints::IPV6)
      end

      def check_auth(domain, options)
        Godwit::Socket::Authentication.options(:PUSH, @context.socket_options, domain, options)
        Godwit::Socket::Authentication.check_transport(@endpoint, :logger)
      end

      def check_durable
        known = %i[drop_new block].include?(@overflow)
        bad("overflow: with durable:", ":drop_new or :block", @overflow) unless known
        bad("wire: with durable:", ":records", @wire) if plain?
        bad("bind: with durable:", "false: the receiver binds", true) if bind?
        @durable = check_folder("durable:", @durable, @durable_bytes)
      end

      def check_folder(name, folder, bytes)
        count("#{name.chomp(":")}_bytes:", bytes) if bytes
        Files.checked_path(folder, :logger, name, "the path of a folder")
      end

      def bad(name, wanted, value) = raise(Errors.bad_value(:logger, name, wanted, value))
      def bad_type(name, wanted, value) = raise(Errors.bad_type(:logger, name, wanted, value))

      def one_of(allowed, name, value)
        known = value.is_a?(String) ? value.to_sym : value
        return known if allowed.include?(known)
        bad(name, allowed.map(&:inspect).join(", "), value)
      end

      def count(name, value)
        Errors.check_positive(:logger, name, "an Integer, 1 or more", value)
        value
      end

      def seconds(name, value, nil_allowed: false)
        return value if value.nil? && nil_allowed
        return value if value.is_a?(Numeric) && value.real? && value >= 0 && value.to_f.finite?
        bad(name, "seconds, 0 or more#{", or nil for ever" if nil_allowed}", value)
      end
    end
    private_constant :Settings
  end
end
