# frozen_string_literal: true

require "socket"
require_relative "text"

module Godwit
  class Logger < ::Logger
    # What a logger with an endpoint was told, checked once; clones and forked children go by the
    # same.
    # @private
    class Settings
      OVERFLOWS = %i[drop_new drop_old block spool].freeze
      WIRES = %i[records plain].freeze
      QUEUE = 100_000
      QUEUE_BYTES = 16 << 20
      # What libzmq would refuse when the first record is on its way.
      NOT_FOR_PUSH = %w[udp: pgm: epgm: norm:].freeze
      # Bytes of a frame that libzmq gets in place, and that are counted as long as it has them.
      LARGE = 8_192
      # Frames of a record.
      FRAMES = 3
      # Seconds, 23 days: libzmq's linger is 31 bits of milliseconds.
      LONGEST = 2_000_000

      # @raise [ArgumentValueError, ArgumentTypeError, OptionError]
      def initialize(
        endpoint, overflow: :drop_new, queue: QUEUE, queue_bytes: QUEUE_BYTES, block_timeout: nil,
        linger: Context::DEFAULT_LINGER, wire: :records, host: nil, bind: false, context: nil,
        spool: nil, spool_bytes: nil, durable: nil, durable_bytes: nil, fsync: false, curve: nil,
        server_key: nil, plain: nil, auth: nil, **options
      )
        check_ractor
        @endpoint = check_endpoint(endpoint, bind ? :bind : :connect)
        @bind = bind ? true : false
        @pid = Process.pid
        @overflow = one_of(OVERFLOWS, "overflow:", overflow)
        @wire = one_of(WIRES, "wire:", wire)
        @queue = count("queue:", queue)
        @queue_bytes = count("queue_bytes:", queue_bytes)
        @block_timeout = seconds("block_timeout:", block_timeout, nil_allowed: true)
        @block_timeout = nil if @block_timeout && @block_timeout > LONGEST
        @linger = [seconds("linger:", linger), LONGEST].min
        @host = Text.cut((host || ::Socket.gethostname).to_s.dup, Text::MOST_NAME).freeze
        @context = context
        unless context.nil? || context.is_a?(Context)
          raise Errors.bad_type(
            :logger, "context:", "a Godwit::Context, or nil for one of its own", context
          )
        end
        @spool, @spool_bytes, @durable, @durable_bytes, @fsync =
          spool,
          spool_bytes,
          durable,
          durable_bytes,
          fsync
        @context ||= Godwit.context if auth # an Auth is of one context
        check_disk
        @options = {curve: curve, server_key: server_key, plain: plain, auth: auth}.compact.merge(
          {send_hwm: hwm, copy_threshold: LARGE}, options
        )
        check_options(options)
        freeze
      end

      attr_reader :endpoint, :pid, :overflow, :wire, :queue, :queue_bytes, :block_timeout, :linger,
        :host, :context, :options, :spool, :spool_bytes, :durable, :durable_bytes, :fsync

      # Bytes that may wait for the sender: half of queue_bytes:. An eighth it may have in hand; the
      # rest is for libzmq's queue: an eighth for large frames, and what the high-water mark allows
      # of others.
      def queue_byte_limit = (@queue_bytes / 2.0).ceil

      # @return [Integer] bytes of large frames that libzmq may have
      def large_bytes = @queue_bytes / 8

      def bind? = @bind

      def plain? = @wire == :plain

      # @param endpoint [String]
      # @return [Settings] for another endpoint
      def at(endpoint)
        copy = dup
        copy.instance_variable_set(:@endpoint, check_endpoint(endpoint, bind? ? :bind : :connect))
        copy.freeze
      end

      private

      def hwm = (@queue_bytes / 4 / (FRAMES * LARGE)).clamp(1, 1000)

      # What sends at exit is the main Ractor's.
      def check_ractor
        return if !defined?(Ractor) || Ractor.current == Ractor.main
        raise Errors.build(
          UnsupportedError, :logger, nil,
          "a logger lives in the main Ractor only: send it what is to be logged"
        )
      end

      def check_endpoint(endpoint, operation)
        endpoint = Endpoint.with_host(endpoint) if endpoint.is_a?(::String)
        checked = Endpoint.check(endpoint, operation).dup.force_encoding(Encoding::UTF_8).freeze
        return checked unless checked.start_with?(*NOT_FOR_PUSH)
        raise Errors.build(ProtocolError, operation, endpoint, "records go over tcp, ipc or inproc")
      rescue EndpointError, ProtocolError => error
        raise ArgumentValueError.new(
          "logger: no endpoint: #{endpoint.inspect}; one is \"tcp://loghost:7000\" " \
          "(#{error.message})",
          operation: :logger
        ),
          cause: nil
      end

      # What would do nothing is a mistake: who asked for it counts on it.
      def check_disk
        if @overflow == :spool && @spool.nil?
          raise Errors.bad_value(
            :logger, "spool:", "a folder, as overflow: :spool wants one", @spool
          )
        end
        if @spool && @overflow != :spool
          raise Errors.bad_value(:logger, "overflow: with spool:", ":spool", @overflow)
        end
        if @fsync && @durable.nil?
          raise Errors.bad_value(
            :logger, "fsync: without durable:",
            "false: nothing else is written to the disk before the call returns", @fsync
          )
        end
      end

      # A socket would say so only when the first record is on its way.
      def check_options(options)
        options.each { |name, value| Options.fetch(name).encode(value, :PUSH) }
        given = Godwit::Socket::Security.options(*@options.values_at(:curve, :server_key, :plain))
        check_auth(@options[:auth], {**options, **given}) if @options.key?(:auth)
      end

      def check_auth(domain, options)
        Godwit::Socket::Authentication.options(:PUSH, @context.socket_options, domain, options)
        Godwit::Socket::Authentication.check_transport(@endpoint, :logger)
      end

      def one_of(allowed, name, value)
        known = value.is_a?(String) ? value.to_sym : value
        return known if allowed.include?(known)
        raise Errors.bad_value(:logger, name, allowed.map(&:inspect).join(", "), value)
      end

      def count(name, value)
        return value if value.is_a?(Integer) && value.positive?
        raise Errors.bad_value(:logger, name, "an Integer, 1 or more", value)
      end

      def seconds(name, value, nil_allowed: false)
        return value if value.nil? && nil_allowed
        return value if value.is_a?(Numeric) && value.real? && value >= 0 && value.to_f.finite?
        raise Errors.bad_value(
          :logger, name, "seconds, 0 or more#{", or nil for ever" if nil_allowed}", value
        )
      end
    end
    private_constant :Settings
  end
end
