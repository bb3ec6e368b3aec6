# frozen_string_literal: true

module ZMQ
  # A socket: calls return 0 or more, or -1 and an errno ({Util.errno}).
  #
  # **Threads**: one thread at a time uses a socket, as in ffi-rzmq, since the frames of a message
  # that was begun belong to the socket. Calls that wait end on `Thread#kill`, `Thread#raise`,
  # `Timeout`, Ctrl-C, {#close} and {Context#terminate}.
  class Socket
    RANGES = {
      int64: -(1 << 63)..(1 << 63) - 1, uint64: 0..(1 << 64) - 1, id32: 0..(1 << 32) - 1
    }.tap { |ranges| ranges.default = -(1 << 31)..(1 << 31) - 1 }.freeze
    BY_ID =
      Godwit::Options::SOCKET.each_value.uniq(&:id).to_h { |option| [option.id, option] }.freeze
    private_constant :RANGES, :BY_ID

    # @return [Handle, nil] stands in for libzmq's socket; nil once it is closed
    attr_reader :socket
    attr_reader :name

    # @return [Socket, nil] nil where {#initialize} raises
    def self.create(context, type, opts = {receiver_class: Message})
      new(context, type, opts)
    rescue ContextError
      nil
    end

    # @param opts [Hash] `receiver_class:` what {#recvmsgs} and {#recv_multipart} make; default
    #   {Message}
    # @raise [ContextError] when the context is terminated or full, or there is no such type
    def initialize(context, type, opts = {receiver_class: Message})
      @context = Handle.owner_of(context, Context)
      home = @context&.godwit # one read: another thread may terminate the context
      unless home
        raise ContextError.new("zmq_socket", 0, ETERM, "there is no context, or it was terminated")
      end
      @receiver_class = opts[:receiver_class] || Message
      @name = SocketTypeNameMap[type]
      refused(EINVAL, "there is no socket type #{type.inspect}") unless @name
      @held = [] # frames sent with SNDMORE
      @rest = [] # frames received and not yet read
      @turn = {"REQ" => :send, "REP" => :receive}[@name]
      take_over(Godwit.const_get(@name).new(context: home))
      use
      Godwit::Compat::FFIRzmq::SOCKETS.add(self)
    rescue Godwit::Error => error
      refused(errno_of(error), error.message)
    end

    def bind(address) = attach(:bind, address)
    def connect(address) = attach(:connect, address)
    def unbind(address) = detach(:unbind, :disconnect, address)
    def disconnect(address) = detach(:disconnect, :unbind, address)

    # Closes the socket, which goes on sending in the background for its linger. A second call does
    # nothing.
    def close
      godwit, @godwit = @godwit, nil
      @socket = nil
      @held = []
      @rest = []
      godwit&.close
      0
    rescue Godwit::ForkedError
      0 # the parent process closes the socket
    end

    # ---- options, by libzmq's numbers and in libzmq's units ----
    # @param value [Integer, String] times are milliseconds
    # @param length [Integer, nil] how many bytes of a String; nil: all
    def setsockopt(name, value, length = nil)
      return failed(ENOTSOCK) unless @godwit
      option = BY_ID[name]
      raw = raw_value(option, value, length) if option&.writable?
      return failed(EINVAL) if raw.nil?
      if option.name == :conflate && @name == "PUB"
        conflate_publisher(option, raw)
      else
        store(option, raw)
      end
      @relaxed = raw != 0 if option.name == :relaxed
      0
    rescue Godwit::Error => error
      record(error)
    end

    # @param array [Array] its first element becomes the value: an Integer, a String, or true or
    #   false (`RCVMORE`)
    def getsockopt(name, array)
      return failed(ENOTSOCK) unless @godwit
      option = BY_ID[name]
      return failed(EINVAL) unless option&.readable?
      array[0] = read(option)
      0
    rescue Godwit::Error => error
      record(error)
    end

    # @return [String, nil] a ROUTER at the other end knows the socket by this name; nil when the
    #   socket is closed
    def identity
      array = []
      getsockopt(IDENTITY, array)
      array.first
    end

    # @param value [#to_s] 1 to 255 bytes, before it connects
    def identity=(value)
      setsockopt(IDENTITY, value.to_s)
    end

    # ---- messages: each call returns the bytes of the last frame or -1, and takes DONTWAIT ----

    # The socket stores a frame sent with `SNDMORE`, and sends it with the last one. As in libzmq,
    # the first frame waits for a peer with room, or fails. A ROUTER without such a peer fails at
    # the last frame.
    def send_string(string, flags = 0) = send_frame(string || "", flags)

    def send_strings(frames, flags = 0)
      return -1 if frames.nil? || frames.empty?
      send_frames(frames.map { |frame| frame || "" }, flags)
    end

    # Sends a message, which is empty afterwards. It keeps its bytes when the call fails.
    def sendmsg(message, flags = 0)
      message = Message.of(message)
      return failed(EFAULT) if message.nil? || message.closed?
      result = send_frame(message.outgoing, flags)
      message.empty if result >= 0
      result
    end

    def sendmsgs(frames, flags = 0)
      return -1 if frames.nil? || frames.empty?
      messages = frames.map { |frame| Message.of(frame) }
      return failed(EFAULT) if messages.any? { |message| message.nil? || message.closed? }
      result = send_frames(messages.map(&:outgoing), flags)
      messages.each(&:empty) if result >= 0
      result
    end

    # {#sendmsg}, then closes the message, also after a failure.
    def send_and_close(message, flags = 0)
      result = sendmsg(message, flags)
      message.close
      result
    end

    # @param string [String] the next frame replaces its content, binary
    def recv_string(string, flags = 0)
      if string.frozen?
        raise FrozenError.new("recv_string: the String is frozen", receiver: string)
      end
      frame = next_frame(:_recv, flags) or return -1
      string.replace(frame.to_s)
      string.bytesize
    end

    # Receives a message, or the rest of one that was begun.
    # @param list [Array<String>] gets the frames, binary
    def recv_strings(list, flags = 0)
      frames = all_frames(:_recv, flags) or return -1
      list.concat(frames.map(&:to_s))
      list.last.bytesize
    end

    # @param message [Message] the next frame replaces its content, without a copy
    def recvmsg(message, flags = 0)
      message = Message.of(message)
      return failed(EFAULT) if message.nil? || message.closed?
      frame = next_frame(:_recv_frame, flags) or return -1
      message.fill(frame, rest?)
      frame.bytesize
    end

    # Receives a message, or the rest of one that was begun, without a copy.
    def recvmsgs(list, flags = 0)
      frames = all_frames(:_recv_frame, flags) or return -1
      frames.each_with_index do |frame, index|
        message = @receiver_class.new
        Message.of(message).fill(frame, index + 1 < frames.size)
        list << message
      end
      frames.last.bytesize
    end

    # Receives a message with a routing envelope, as a ROUTER or DEALER gets it.
    # @param list [Array<Message>] gets the frames after the first empty one
    # @param routing_envelope [Array<Message>] gets the frames up to the first empty one
    def recv_multipart(list, routing_envelope, flags = 0)
      frames = []
      result = recvmsgs(frames, flags)
      return result if result == -1
      border = frames.index { |frame| frame.size.zero? } || frames.size
      routing_envelope.concat(frames[0..border])
      list.concat(frames[border + 1..] || [])
      result
    end

    # @return [Boolean] whether the message that is being read has more frames
    def more_parts? = rest?

    # The layer's own methods:

    # @return [Godwit::Socket, nil] nil once it is closed
    attr_reader :godwit
    attr_reader :context
    # @return [Boolean] whether it holds frames of a partly received message
    def rest? = !@rest.empty?
    # @return [Boolean] whether it is open, and another living thread used it last
    def used_elsewhere? = !@godwit.nil? && !@user.equal?(Thread.current) && @user.alive?
    # Remembers the thread that uses the socket.
    def use = @user = Thread.current

    def monitor=(monitor)
      @monitor&.close
      @monitor = monitor
    end

    def record(error) = failed(errno_of(error))

    private

    def take_over(godwit)
      @godwit = godwit
      @socket = Handle.new(self, godwit.pointer)
    end

    def attach(how, address)
      return failed(ENOTSOCK) unless @godwit
      use
      @godwit.public_send(how, address)
      0
    rescue Godwit::Error => error
      record(error)
    end

    # libzmq's zmq_unbind ends a connection too, and zmq_disconnect a bind.
    def detach(how, other, address)
      return failed(ENOTSOCK) unless @godwit
      begin
        @godwit.public_send(how, address)
      rescue Godwit::NoEndpointError
        @godwit.public_send(other, address)
      end
      0
    rescue Godwit::Error => error
      record(error)
    end

    # @return [Integer, nil] the backend's time-out: 0 does not wait
    def timeout_of(flags) = flags.anybits?(DONTWAIT) ? 0 : nil
    def failed(errno) = Failures.set_errno(errno)

    # In libzmq, the calls on a socket fail with ETERM once its context has ended.
    def errno_of(error)
      return ETERM if error.is_a?(Godwit::ClosedError) && @context.terminated?
      Failures.errno_of(error)
    end

    def refused(errno, message)
      failed(errno)
      raise ContextError.new("zmq_socket", 0, errno, message)
    end

    # @return [Integer, String, nil] nil when the option does not take the value
    def raw_value(option, value, length)
      # A Godwit::PUB is an XPUB of libzmq, which takes more options.
      return unless option.types.nil? || @name != "PUB" || option.for_type?(:PUB)
      if %i[bytes text key].include?(option.type)
        return unless value.is_a?(String)
        length ? value.byteslice(0, length) : value.b
      elsif value.is_a?(Integer) && RANGES[option.type].cover?(value)
        (option.type == :id32) ? [value].pack("L") : value
      end
    end

    # libzmq 3 ignored a high-water mark set after the first bind or connect.
    def store(option, raw)
      @godwit.store(option, raw, raw)
    rescue Godwit::StateError
      raise unless option.fixed?
    else
      (@settings ||= []) << [option, raw]
    end

    # libzmq does not conflate on an XPUB, so a conflating Godwit::PUB takes the socket's place.
    def conflate_publisher(option, raw)
      raise option.error("goes before the first bind or connect") if @godwit.endpoints.any?
      raise option.error("takes 0 or 1") unless [0, 1].include?(raw)
      old = @godwit
      take_over(Godwit::PUB.new(context: old.context, conflate: raw == 1))
      @settings&.each { |other, value| @godwit.store(other, value, value) }
      old.close
    end

    def read(option)
      case option.name
      when :recv_more then rest?
      when :events
        bits = @godwit.__send__(:_wait, POLLIN | POLLOUT, 0) || 0
        rest? ? bits | POLLIN : bits
      when :zmq_fd then @godwit.zmq_fd
      else
        raw = @godwit.__send__(:_get_option, option.id)
        case option.type
        when :text then "#{raw}\0".b # ffi-rzmq returns libzmq's NUL too
        when :key then Godwit::Z85.encode(raw)
        when :uint64 then [raw].pack("Q").unpack1("q")
        else raw
        end
      end
    end

    def send_frame(frame, flags)
      return hold(frame, flags) if flags.anybits?(SNDMORE)
      transmit(@held.empty? ? frame : [*@held, frame], frame, flags)
    end

    def send_frames(frames, flags) = transmit([*@held, *frames], frames.last, flags)

    # The size of the last frame is read before the send, since a sent frame is gone.
    def transmit(message, last, flags)
      godwit = @godwit
      return failed(ENOTSOCK) unless godwit
      size = last.bytesize if last.is_a?(String) || last.is_a?(Godwit::Frame)
      @user = Thread.current
      # The program must read the rest of the last message first.
      return failed(EFSM) if @turn && !@rest.empty?
      # On EAGAIN the held frames stay, and the program can send the last frame again.
      return failed(EAGAIN) unless godwit.__send__(:_send, message, timeout_of(flags), nil)
      @held = [] unless @held.empty?
      @turn &&= :receive
      size
    rescue Godwit::Error => error
      @held = []
      record(error)
    end

    def hold(frame, flags)
      godwit = @godwit
      return failed(ENOTSOCK) unless godwit
      return failed(EINVAL) unless frame.is_a?(String) || frame.is_a?(Godwit::Frame)
      refusal = refusal_of(godwit, flags) if @held.empty?
      return failed(refusal) if refusal
      size = frame.bytesize
      @held << (frame.is_a?(String) ? frame.dup.freeze : frame)
      size
    rescue Godwit::Error => error
      record(error)
    end

    def refusal_of(godwit, flags)
      return ENOTSUP if Godwit::ErrorHints::RECEIVE_ONLY.include?(godwit.type)
      return EFSM if @turn && ((@turn == :receive && !@relaxed) || rest?)
      limit = timeout_of(flags) || godwit.__send__(:_get_option, SNDTIMEO)
      EAGAIN unless godwit.__send__(:_wait, POLLOUT, limit)
    end

    def next_frame(primitive, flags)
      return @rest.shift unless @rest.empty?
      message = receive(primitive, flags)
      return message unless message.is_a?(Array)
      @rest = message
      @rest.shift
    end

    def all_frames(primitive, flags)
      return @rest.shift(@rest.size) unless @rest.empty?
      message = receive(primitive, flags) or return
      message.is_a?(Array) ? message : [message]
    end

    def receive(primitive, flags)
      godwit = @godwit
      unless godwit
        failed(ENOTSOCK)
        return
      end
      @user = Thread.current
      message = godwit.__send__(primitive, timeout_of(flags))
      message ? @turn &&= :send : failed(EAGAIN)
      message
    rescue Godwit::Error => error
      record(error)
      nil
    end
  end
end
