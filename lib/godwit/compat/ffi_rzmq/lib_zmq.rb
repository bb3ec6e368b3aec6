# frozen_string_literal: true

# The functions of libzmq that programs of ffi-rzmq call directly. Any other function raises
# {ZMQ::NotSupportedError}.
module LibZMQ
  # The release of ffi-rzmq-core that has this API.
  VERSION = "1.0.7"

  Failures = Godwit::Compat::FFIRzmq::Failures
  private_constant :Failures

  class << self
    # @return [Hash{Symbol => Integer}] `:major`, `:minor`, `:patch` of the libzmq in use
    def version = %i[major minor patch].zip(Godwit::Backend::IMPLEMENTATION.libzmq_version).to_h
    def version_number = version.values.inject { |number, part| number * 100 + part }
    def version_string = version.values.join(".")
    def version3? = version[:major] == 3
    def version4? = version[:major] == 4

    # Writes an int to the memory of each FFI::Pointer.
    def zmq_version(major, minor, patch)
      [major, minor, patch].zip(version.values) { |pointer, number| pointer.write_int(number) }
      nil
    end

    def zmq_errno = ZMQ::Util.errno

    def zmq_strerror(errno)
      Godwit::Compat::FFIRzmq.ffi::MemoryPointer.from_string(Failures.words(errno))
    end

    def zmq_has(feature) = Godwit.has?(feature) ? 1 : 0
    def terminate_context(context) = context.owner.terminate
    alias_method :zmq_ctx_term, :terminate_context
    alias_method :zmq_ctx_destroy, :terminate_context
    alias_method :zmq_term, :terminate_context

    # Sends a socket's events, in libzmq's format, to a PAIR of the same context that connects to
    # the endpoint. A PAIR that reads slowly does not delay the socket.
    # @param endpoint [String, nil] such as "inproc://monitor"; nil ends the monitor
    # @return [Integer] 0 or -1
    def zmq_socket_monitor(socket, endpoint, events)
      owner = ZMQ::Handle.owner_of(socket, ZMQ::Socket)
      Godwit::Compat::FFIRzmq::Monitors.start(owner, endpoint, events)
    end

    # Passes messages between two sockets as {ZMQ::Device} does, until their context is terminated
    # or one of them is closed. If both are one socket (a REP), its peers get their messages back.
    # @param capture [ZMQ::Handle, nil] gets a copy of each message
    # @return [Integer] -1, with the errno that ended the call
    def zmq_proxy(frontend, backend, capture = nil)
      sockets = [frontend, backend, *capture].map { |one| ZMQ::Handle.owner_of(one, ZMQ::Socket) }
      sockets.include?(nil) ? Failures.set_errno(ZMQ::EFAULT) : ZMQ::Device.new(*sockets)
      -1
    end

    private

    def method_missing(name, *)
      return super unless name.start_with?("zmq_")
      raise ZMQ::NotSupportedError.new(name.to_s, -1, ZMQ::ENOTSUP,
        "Godwit has no #{name}: call the method of ZMQ::Socket, Context or Message")
    end

    def respond_to_missing?(*) = false

    # libzmq's struct is packed: the value begins at the third byte. The class is made when a
    # program names it, since only this class needs the gem ffi.
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
