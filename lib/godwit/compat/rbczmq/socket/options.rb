# frozen_string_literal: true

module ZMQ
  class Socket
    EVENTS = 15
    SUBSCRIBE = 6
    UNSUBSCRIBE = 7
    IDENTITY = 5
    IPV4ONLY = 31

    # Options that scripts read and set, with libzmq's numbers and units.
    NUMBERS = {
      sndhwm: 23, rcvhwm: 24, affinity: 4, rate: 8, recovery_ivl: 9, maxmsgsize: 22,
      multicast_hops: 25, sndbuf: 11, rcvbuf: 12, backlog: 19, reconnect_ivl: 18,
      reconnect_ivl_max: 21, rcvtimeo: 27, sndtimeo: 28
    }.freeze
    # Options whose default was 0, and is -1 from libzmq 4.2 on.
    BUFFERS = %i[sndbuf rcvbuf].freeze
    # Boolean options that scripts only set.
    FLAGS = {
      delay_attach_on_connect: 39, router_mandatory: 33, router_raw: 41, xpub_verbose: 40
    }.freeze
    INT = (-(1 << 31)..(1 << 31) - 1)
    RANGES = {affinity: 0..(1 << 64) - 1, maxmsgsize: -(1 << 63)..(1 << 63) - 1}.freeze
    private_constant :EVENTS, :SUBSCRIBE, :UNSUBSCRIBE, :IDENTITY, :IPV4ONLY, :NUMBERS, :BUFFERS,
      :FLAGS, :INT, :RANGES

    NUMBERS.each do |name, id|
      if BUFFERS.include?(name)
        define_method(name) { [read_option(id), 0].max }
      else
        define_method(name) { read_option(id) }
      end
      define_method(:"#{name}=") { |value| write_number(name, id, value) }
    end

    FLAGS.each do |name, id|
      define_method(:"#{name}=") { |value| write_flag(name, id, value) }
    end

    # @return [Integer] always -1
    def linger
      alive!
      -1
    end

    # @param milliseconds [Integer] how long libzmq sends the messages of the closed socket, unless
    #   its context has a linger
    def linger=(milliseconds)
      write_number(:linger, LINGER, milliseconds)
    end

    def ipv4only? = read_option(IPV4ONLY) == 1

    def ipv4only=(flag)
      write_flag(:ipv4only, IPV4ONLY, flag)
    end

    # @param name [String] 1 to 255 bytes
    def identity=(name)
      usable!
      Arguments.type(name, String)
      raise Error, "socket identity cannot be empty." if name.empty?
      raise Error, "maximum socket identity is 255 bytes." if name.bytesize > 255
      write_option("identity", IDENTITY, name.b)
    end

    def subscribe(topic) = write_topic("subscribe", SUBSCRIBE, topic)
    def unsubscribe(topic) = write_topic("unsubscribe", UNSUBSCRIBE, topic)

    def events
      bits = read_option(EVENTS)
      # libzmq 3 reported POLLOUT for an unattached ROUTER, also with router_mandatory.
      bits |= POLLOUT if @endpoints.empty? && type == ROUTER
      rest? ? bits | POLLIN : bits
    end

    def readable? = events.anybits?(POLLIN)
    def writable? = events.anybits?(POLLOUT)

    private

    def read_option(id)
      alive!
      translated { @godwit._get_option(id) }
    end

    def write_number(name, id, value)
      usable!
      Arguments.type(value, Integer)
      unless RANGES.fetch(name, INT).cover?(value)
        Failures.refuse(Errno::EINVAL::Errno, "#{name} #{value}")
      end
      write_option(name, id, value)
    end

    def write_flag(name, id, value)
      usable!
      write_option(name, id, Arguments.boolean(value) ? 1 : 0)
    end

    def write_topic(name, id, topic)
      usable!
      raise Error, "Socket option not supported on a #{type_str} socket!" unless type == SUB
      write_option(name, id, Arguments.type(topic, String).b)
    end

    def write_option(name, id, value)
      translated do
        @godwit._set_option(id, value)
      rescue Godwit::StateError
        nil # libzmq 3 ignored a high-water mark set after the first bind or connect
      end
      trace { "set option \"#{name}\" #{value.inspect}" }
      nil
    end
  end
end
