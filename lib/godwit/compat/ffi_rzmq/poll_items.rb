# frozen_string_literal: true

module ZMQ
  # What a {Poller} waits for: a {Socket}, an object whose method `socket` returns a Socket or its
  # pointer, an IO, the number of a descriptor, an object whose method `posix_fileno` returns such a
  # number, or an object whose method `io` returns an IO, a number or an object with `posix_fileno`.
  class PollItem
    attr_accessor :pollable, :events
    attr_reader :target, :io
    attr_writer :revents
    def self.from_pollable(pollable) = new.watch(pollable)

    def initialize
      @events = 0
      @revents = 0
    end

    def watch(pollable)
      @pollable = thing = pollable
      thing = thing.socket if !thing.is_a?(Socket) && thing.respond_to?(:socket)
      @target = Handle.owner_of(thing, Socket)
      return self if @target
      unless IO.try_convert(thing)
        thing = thing.io if !thing.respond_to?(:posix_fileno) && thing.respond_to?(:io)
        thing = thing.posix_fileno if IO.try_convert(thing).nil? && thing.respond_to?(:posix_fileno)
        thing = IO.for_fd(thing, autoclose: false) if thing.is_a?(Integer)
      end
      @io = IO.try_convert(thing)
      @watched = thing # an SSLSocket may have buffered bytes, which its IO does not show
      return self if @io
      raise TypeError, "a poller takes sockets, IOs and descriptors, not #{pollable.inspect}"
    end

    def socket = @target&.socket
    def fd = @io&.fileno
    # @return [Boolean] the result of the last poll
    def readable? = @revents.anybits?(POLLIN)
    def writable? = @revents.anybits?(POLLOUT)

    def closed?
      return @target.socket.nil? if @target
      @pollable.respond_to?(:closed?) ? @pollable.closed? : @io.closed?
    end

    def godwit = @target ? @target.godwit : @watched

    # @return [Integer] the registered events that the socket's type can have
    def possible
      bits = @events & (POLLIN | POLLOUT)
      type = @target&.godwit&.type
      bits &= ~POLLIN if Godwit::ErrorHints::SEND_ONLY.include?(type)
      bits &= ~POLLOUT if Godwit::ErrorHints::RECEIVE_ONLY.include?(type)
      bits
    end

    # @return [Boolean] whether the socket has unread frames of a partly received message
    def rest? = @target && @events.anybits?(POLLIN) && @target.rest?

    def inspect
      "socket [#{socket.inspect}], fd [#{fd}], events [#{@events}], revents [#{@revents}]"
    end
    alias_method :to_s, :inspect
  end

  # The items of a {Poller}, each by the object that was registered.
  class PollItems
    include Enumerable

    def initialize
      @items = {}
    end

    def get(pollable) = @items[pollable]
    alias_method :[], :get

    def <<(item)
      @items[item.pollable] = item
    end
    alias_method :push, :<<
    def delete(pollable) = !@items.delete(pollable).nil?

    # @yieldparam item [PollItem]
    def each(&block)
      @items.values.each(&block)
      self
    end

    def size = @items.size
    def empty? = @items.empty?
    def inspect = map(&:inspect).join(", ")
    alias_method :to_s, :inspect
  end
end
