# frozen_string_literal: true

require_relative "monitors"

# The few functions of libzmq that programs call beside `ZMQ`. Every other raises
# {ZMQ::NotSupportedError}.
module LibZMQ
  # The ffi-rzmq-core whose calls these are.
  VERSION = "1.0.7"

  class << self
    # @return [Hash{Symbol => Integer}] `:major`, `:minor`, `:patch` of the libzmq that is running
    def version
      %i[major minor patch].zip(Godwit::Backend::IMPLEMENTATION.libzmq_version).to_h
    end

    # @return [Integer] such as 40304
    def version_number = version.values.inject { |number, part| number * 100 + part }

    # @return [String] such as "4.3.4"
    def version_string = version.values.join(".")

    # @return [Boolean]
    def version3? = version[:major] == 3

    # @return [Boolean]
    def version4? = version[:major] == 4

    # @param major [FFI::Pointer] gets an int
    # @param minor [FFI::Pointer] gets an int
    # @param patch [FFI::Pointer] gets an int
    # @return [nil]
    def zmq_version(major, minor, patch)
      [major, minor, patch].zip(version.values) { |pointer, number| pointer.write_int(number) }
      nil
    end

    # @return [Integer] see {ZMQ::Util.errno}
    def zmq_errno = ZMQ::Util.errno

    # @param errno [Integer]
    # @return [FFI::Pointer] to its words
    # @raise [ZMQ::NotSupportedError] without the gem ffi
    def zmq_strerror(errno)
      Godwit::Compat::FFIRzmq.ffi::MemoryPointer.from_string(
        Godwit::Compat::FFIRzmq::Failures.words(errno)
      )
    end

    # @param feature [String] such as "curve"
    # @return [Integer] 1 or 0
    def zmq_has(feature) = Godwit.has?(feature) ? 1 : 0

    # @param context [ZMQ::Handle] a context's pointer
    # @return [Integer] 0
    def terminate_context(context) = context.owner.terminate
    alias_method :zmq_ctx_term, :terminate_context
    alias_method :zmq_ctx_destroy, :terminate_context
    alias_method :zmq_term, :terminate_context

    # Sends a socket's events, in libzmq's format, to a PAIR of the same context that connects to
    # the endpoint. A late reader stops nothing.
    # @param socket [ZMQ::Handle] a socket's pointer
    # @param endpoint [String, nil] such as "inproc://monitor"; nil: ends it
    # @param events [Integer] such as `ZMQ::EVENT_ALL`
    # @return [Integer] 0 or -1
    def zmq_socket_monitor(socket, endpoint, events)
      Godwit::Compat::FFIRzmq::Monitors.start(
        ZMQ::Handle.owner_of(socket, ZMQ::Socket), endpoint, events
      )
    end

    # Carries messages between two sockets, as {ZMQ::Device}, until their context is terminated or
    # one of them is closed. One socket on both sides gets back what it received: a REP echoes.
    # @param frontend [ZMQ::Handle] a socket's pointer
    # @param backend [ZMQ::Handle] a socket's pointer
    # @param capture [ZMQ::Handle, nil] gets a copy of each message
    # @return [Integer] -1, with the errno of the end
    def zmq_proxy(frontend, backend, capture = nil)
      sockets =
        [frontend, backend, *capture].map { |pointer| ZMQ::Handle.owner_of(pointer, ZMQ::Socket) }
      if sockets.include?(nil)
        Godwit::Compat::FFIRzmq::Failures.note(ZMQ::EFAULT)
      else
        ZMQ::Device.new(*sockets)
      end
      -1
    end

    private

    def method_missing(name, *)
      return super unless name.start_with?("zmq_")
      raise ZMQ::NotSupportedError.new(
        name.to_s, -1, ZMQ::ENOTSUP,
        "Godwit's door has no #{name}: take the method of ZMQ::Socket, Context or Message"
      )
    end

    def respond_to_missing?(*) = false

    # libzmq packs it: the value begins at the third byte. Only this class needs the gem ffi, so it
    # is made when it is asked for.
    def const_missing(name)
      return super unless name == :EventData
      const_set(:EventData, Class.new(Godwit::Compat::FFIRzmq.ffi::Struct) do
        packed
        layout :event, :uint16, :value, :int32

        def event = self[:event]

        def value = self[:value]

        def inspect = "event [#{event}], value [#{value}]"
      end)
    end
  end
end
