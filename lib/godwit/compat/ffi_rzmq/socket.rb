# frozen_string_literal: true

module ZMQ
  # A socket. Its calls return 0 or more, or -1 and set an errno ({Util.errno}).
  #
  # **Threads**: one thread at a time may use a socket, as in ffi-rzmq, since several calls can send
  # or receive the frames of one message. Calls that wait end on `Thread#kill`, `Thread#raise`,
  # `Timeout`, Ctrl-C, {#close} and {Context#terminate}.
  class Socket
    RANGES = {
      int64: -(1 << 63)..(1 << 63) - 1, uint64: 0..(1 << 64) - 1, id32: 0..(1 << 32) - 1
    }.tap { |ranges| ranges.default = -(1 << 31)..(1 << 31) - 1 }.freeze
    BY_ID =
      Godwit::Options::SOCKET.each_value.uniq(&:id).to_h { |option| [option.id, option] }.freeze
    private_constant :RANGES, :BY_ID

    # @return [Handle, nil] represents libzmq's socket; nil once the socket is closed
    attr_reader :socket
    attr_reader :name

    # @return [Socket, nil] nil if {#initialize} raises
    def self.create(context, type, opts = {receiver_class: Message})
      new(context, type, opts)
    rescue ContextError
      nil
    end

    # @param opts [Hash] `receiver_class:` the class of the messages that {#recvmsgs} and
    #   {#recv_multipart} make; default {Message}
    # @raise [ContextError] when the context is terminated or full, or there is no such type
    def initialize(context, type, opts = {receiver_class: Message})
      @context = Handle.owner_of(context, Context)
      home = @context&.godwit # read once: another thread may terminate the context
      unless home
        raise ContextError.new("zmq_socket", 0, ETERM, "there is no context, or it was terminated")
      end
      @receiver_class = opts[:receiver_class] || Message
      @name = SocketTypeNameMap[type]
      refused(EINVAL, "there is no socket type #{type.inspect}") unless @name
      @held = [] # frames given with SNDMORE, which are sent with the message's last frame
      @rest = [] # received frames that the program has not read yet
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

    # Closes the socket. libzmq sends its messages in the background, for at most the linger. A
    # second call does nothing.
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
    # @param value [Integer, String] in milliseconds for times
    # @param length [Integer, nil] number of bytes of the String to use; nil: all
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

    # @param array [Array] its first element is set to the value: an Integer, a String, or true or
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

    # @return [String, nil] the routing id by which a ROUTER names this socket; nil after a close
    def identity
      array = []
      getsockopt(IDENTITY, array)
      array.first
    end

    # @param value [#to_s] 1 to 255 bytes; to set before the socket connects
    def identity=(value)
      setsockopt(IDENTITY, value.to_s)
    end

    # ---- messages: each call returns the bytes of the last frame or -1, and accepts DONTWAIT ----

    # The socket stores a frame given with `SNDMORE`, and sends it with the message's last frame. As
    # in libzmq, the first frame waits for a peer with room in its queue, or fails. If a ROUTER has
    # no such peer, only the last frame fails.
    def send_string(string, flags = 0) = send_frame(string || "", flags)

    def send_strings(frames, flags = 0)
      return -1 if frames.nil? || frames.empty?
      send_frames(frames.map { |frame| frame || "" }, flags)
    end

    # Sends a message, which is empty afterwards. If the call fails, the message keeps its bytes.
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

    # Calls {#sendmsg}, then closes the message, also after a failure.
    def send_and_close(message, flags = 0)
      result = sendmsg(message, flags)
      message.close
      result
    end

    # @param string [String] its content is replaced by the next frame, binary
    def recv_string(string, flags = 0)
      if string.frozen?
        raise FrozenError.new("recv_string: the String is frozen", receiver: string)
      end
      frame = next_frame(:_recv, flags) or return -1
      string.replace(frame.to_s)
      string.bytesize
    end

    # Receives a message; or, of a partly read message, the remaining frames.
    # @param list [Array<String>] the frames are added here, binary
    def recv_strings(list, flags = 0)
      frames = all_frames(:_recv, flags) or return -1
      list.concat(frames.map(&:to_s))
      list.last.bytesize
    end

    # @param message [Message] its content is replaced by the next frame, without a copy
    def recvmsg(message, flags = 0)
      message = Message.of(message)
      return failed(EFAULT) if message.nil? || message.closed?
      frame = next_frame(:_recv_frame, flags) or return -1
      message.fill(frame, rest?)
      frame.bytesize
    end

    # Receives a message, or the remaining frames of a partly read message, without a copy.
    def recvmsgs(list, flags = 0)
      frames = all_frames(:_recv_frame, flags) or return -1
      frames.each_with_index do |frame, index|
        message = @receiver_class.new
        Message.of(message).fill(frame, index + 1 < frames.size)
        list << message
      end
      frames.last.bytesize
    end

    # Receives a message with a routing envelope, such as a ROUTER or DEALER receives.
    # @param list [Array<Message>] the frames after the first empty frame are added here
    # @param routing_envelope [Array<Message>] the frames up to the first empty frame are added here
    def recv_multipart(list, routing_envelope, flags = 0)
      frames = []
      result = recvmsgs(frames, flags)
      return result if result == -1
      border = frames.index { |frame| frame.size.zero? } || frames.size
      routing_envelope.concat(frames[0..border])
      list.concat(frames[border + 1..] || [])
      result
    end

    # @return [Boolean] whether the message that the program reads has more frames
    def more_parts? = rest?

    # ffi-rzmq does not have the methods below.

    # @return [Godwit::Socket, nil] nil once the socket is closed
    attr_reader :godwit
    attr_reader :context
    # @return [Boolean] whether the socket has unread frames of a partly read message
    def rest? = !@rest.empty?
    # @return [Boolean] whether the socket is open and a living other thread used it last
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

    # In libzmq, zmq_unbind also ends a connection, and zmq_disconnect also ends a bind.
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

    # @return [Integer, nil] time-out for the backend; 0: no wait; nil: the socket's own time-out
    def timeout_of(flags) = flags.anybits?(DONTWAIT) ? 0 : nil
    def failed(errno) = Failures.set_errno(errno)

    # In libzmq, calls on a socket fail with ETERM after the end of its context.
    def errno_of(error)
      return ETERM if error.is_a?(Godwit::ClosedError) && @context.terminated?
      Failures.errno_of(error)
    end

    def refused(errno, message)
      failed(errno)
      raise ContextError.new("zmq_socket", 0, errno, message)
    end

    # @return [Integer, String, nil] the value for libzmq; nil: the option does not accept the value
    def raw_value(option, value, length)
      # A Godwit::PUB uses an XPUB of libzmq, which accepts more options than a PUB.
      return unless option.types.nil? || @name != "PUB" || option.for_type?(:PUB)
      if %i[bytes text key].include?(option.type)
        return unless value.is_a?(String)
        length ? value.byteslice(0, length) : value.b
      elsif value.is_a?(Integer) && RANGES[option.type].cover?(value)
        (option.type == :id32) ? [value].pack("L") : value
      end
    end

    # Sets an option. As libzmq 3 did, ignores a high-water mark after the first bind or connect.
    def store(option, raw)
      @godwit.store(option, raw, raw)
    rescue Godwit::StateError
      raise unless option.fixed?
    else
      (@settings ||= []) << [option, raw]
    end

    # libzmq does not conflate on an XPUB, so a new Godwit::PUB that conflates replaces the socket.
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
        when :text then "#{raw}\0".b # ffi-rzmq also returns the NUL behind libzmq's text
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

    # A sent frame has no size any more, so the last frame's size is read before the send.
    def transmit(message, last, flags)
      godwit = @godwit
      return failed(ENOTSOCK) unless godwit
      size = last.bytesize if last.is_a?(String) || last.is_a?(Godwit::Frame)
      @user = Thread.current
      # A REQ or REP cannot send while frames of the last received message are unread.
      return failed(EFSM) if @turn && !@rest.empty?
      # On EAGAIN the stored frames remain, so that the program can send the last frame again.
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
