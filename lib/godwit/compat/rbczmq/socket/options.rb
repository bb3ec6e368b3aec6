# frozen_string_literal: true

module ZMQ
  class Socket
    EVENTS = 15
    SUBSCRIBE = 6
    UNSUBSCRIBE = 7
    IDENTITY = 5
    IPV4ONLY = 31
    private_constant :EVENTS, :SUBSCRIBE, :UNSUBSCRIBE, :IDENTITY, :IPV4ONLY

    # Name => number of libzmq's; numbers, read and set as libzmq has them.
    NUMBERS = {
      sndhwm: 23, rcvhwm: 24, affinity: 4, rate: 8, recovery_ivl: 9, maxmsgsize: 22,
      multicast_hops: 25, backlog: 19, reconnect_ivl: 18, reconnect_ivl_max: 21, rcvtimeo: 27,
      sndtimeo: 28
    }.freeze

    # Those whose default libzmq 4.2 changed from 0 to -1.
    BUFFERS = {sndbuf: 11, rcvbuf: 12}.freeze

    INT = (-(1 << 31)..(1 << 31) - 1)
    RANGES = {affinity: 0..(1 << 64) - 1, maxmsgsize: -(1 << 63)..(1 << 63) - 1}.freeze
    private_constant :INT, :RANGES

    # Set only.
    FLAGS = {
      delay_attach_on_connect: 39, router_mandatory: 33, router_raw: 41, xpub_verbose: 40
    }.freeze
    private_constant :NUMBERS, :BUFFERS, :FLAGS

    NUMBERS.each do |name, id|
      define_method(name) { read_option(id) }
      define_method(:"#{name}=") { |value| write_number(name, id, value) }
    end

    BUFFERS.each do |name, id|
      define_method(name) { [read_option(id), 0].max }
      define_method(:"#{name}=") { |value| write_number(name, id, value) }
    end

    FLAGS.each do |name, id|
      define_method(:"#{name}=") { |value| write_flag(name, id, value) }
    end

    # @return [Integer] -1, whatever it is
    def linger
      alive!
      -1
    end

    # @param milliseconds [Integer] that it goes on sending after its close, unless its context has
    #   a linger
    def linger=(milliseconds)
      write_number(:linger, LINGER, milliseconds)
    end

    # @return [Boolean]
    def ipv4only? = read_option(IPV4ONLY) == 1

    # @param flag [Boolean]
    def ipv4only=(flag)
      write_flag(:ipv4only, IPV4ONLY, flag)
    end

    # @param name [String] 1 to 255 bytes
    def identity=(name)
      ready_to_set
      Arguments.type(name, String)
      raise Error, "socket identity cannot be empty." if name.empty?
      raise Error, "maximum socket identity is 255 bytes." if name.bytesize > 255
      write_option("identity", IDENTITY, name.b)
    end

    # @param topic [String]
    # @return [nil]
    def subscribe(topic)
      ready_to_set
      only_sub
      write_option("subscribe", SUBSCRIBE, Arguments.type(topic, String).b)
    end

    # @param topic [String]
    # @return [nil]
    def unsubscribe(topic)
      ready_to_set
      only_sub
      write_option("unsubscribe", UNSUBSCRIBE, Arguments.type(topic, String).b)
    end

    # @return [Integer] of POLLIN and POLLOUT
    def events
      bits = read_option(EVENTS)
      # With router_mandatory too, as libzmq 3 has it.
      bits |= POLLOUT if @endpoints.empty? && type == ROUTER
      rest? ? bits | POLLIN : bits
    end

    # @return [Boolean] whether there is something to receive
    def readable? = events.anybits?(POLLIN)

    # @return [Boolean] whether it can send without waiting
    def writable? = events.anybits?(POLLOUT)

    private

    def ready_to_set
      alive!
      own_thread!
      own_process!
    end

    def only_sub
      raise Error, "Socket option not supported on a #{type_str} socket!" unless type == SUB
    end

    def read_option(id)
      alive!
      option { @inner._get_option(id) }
    end

    def write_number(name, id, value)
      ready_to_set
      Arguments.type(value, Integer)
      unless RANGES.fetch(name, INT).cover?(value)
        Failures.refuse(Errno::EINVAL::Errno, "#{name} #{value}")
      end
      write_option(name, id, value)
    end

    def write_flag(name, id, value)
      ready_to_set
      write_option(name, id, Arguments.boolean(value) ? 1 : 0)
    end

    def write_option(name, id, value)
      option do
        @inner._set_option(id, value)
      rescue Godwit::StateError
        # A high-water mark that comes after the first bind or connect counts for nothing, as in
        # libzmq 3.
        nil
      end
      trace { "set option \"#{name}\" #{value.inspect}" }
      nil
    end
  end
end
