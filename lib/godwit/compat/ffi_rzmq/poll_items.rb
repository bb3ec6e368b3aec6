# frozen_string_literal: true

module ZMQ
  # One thing that a {Poller} watches: a {Socket}, something whose method `socket` gives one or its
  # pointer, an IO, the number of a descriptor, something whose method `posix_fileno` gives one, or
  # something whose method `io` gives one of these.
  class PollItem
    # @return [Object] as registered
    attr_accessor :pollable
    # @return [Integer] `POLLIN`, `POLLOUT`, `POLLERR`, or several
    attr_accessor :events
    # @return [Socket, nil]
    attr_reader :target
    # @return [IO, nil]
    attr_reader :io

    # @param pollable [Object]
    # @return [PollItem]
    # @raise [TypeError] when it is nothing that can be watched
    def self.from_pollable(pollable)
      item = new
      item.pollable = pollable
      item.__send__(:find_target)
      item
    end

    # An item without a thing to watch.
    def initialize
      @events = 0
      @revents = 0
    end

    # @return [Handle, nil] the socket's pointer
    def socket = @target&.socket

    # @return [Integer, nil] the descriptor
    def fd = @io&.fileno

    # @return [Boolean] at the last poll
    def readable? = @revents.anybits?(POLLIN)

    # @return [Boolean] at the last poll
    def writable? = @revents.anybits?(POLLOUT)

    # @return [Boolean] as the thing itself says, where it does
    def closed?
      return @target.socket.nil? if @target
      @pollable.respond_to?(:closed?) ? @pollable.closed? : @io.closed?
    end

    # @private
    attr_writer :revents

    # @private
    # What of the events can ever come.
    def possible
      return @events & (POLLIN | POLLOUT) unless @target
      type = @target.godwit&.type
      bits = @events & (POLLIN | POLLOUT)
      bits &= ~POLLIN if Godwit::ErrorHints::SEND_ONLY.include?(type)
      bits &= ~POLLOUT if Godwit::ErrorHints::RECEIVE_ONLY.include?(type)
      bits
    end

    # @return [String]
    def inspect
      "socket [#{socket.inspect}], fd [#{fd}], events [#{@events}], revents [#{@revents}]"
    end
    alias_method :to_s, :inspect

    private

    def find_target
      thing = @pollable
      thing = thing.socket if !thing.is_a?(Socket) && thing.respond_to?(:socket)
      @target = Handle.owner_of(thing, Socket)
      return if @target
      thing = thing.io if !thing.respond_to?(:posix_fileno) && thing.respond_to?(:io)
      thing = thing.posix_fileno if IO.try_convert(thing).nil? && thing.respond_to?(:posix_fileno)
      @io = thing.is_a?(Integer) ? IO.for_fd(thing, autoclose: false) : IO.try_convert(thing)
      unless @io
        raise TypeError, "a poller takes sockets, IOs and descriptors, not #{@pollable.inspect}"
      end
    end
  end

  # The items of a {Poller}, by what was registered.
  class PollItems
    include Enumerable

    # An empty one.
    def initialize
      @items = {}
    end

    # @param pollable [Object]
    # @return [PollItem, nil]
    def get(pollable) = @items[pollable]
    alias_method :[], :get

    # @param item [PollItem]
    # @return [PollItem]
    def <<(item)
      @items[item.pollable] = item
    end
    alias_method :push, :<<

    # @param pollable [Object]
    # @return [Boolean] whether it was there
    def delete(pollable) = !@items.delete(pollable).nil?

    # @yieldparam item [PollItem]
    # @return [self]
    def each(&block)
      @items.values.each(&block)
      self
    end

    # @return [Integer]
    def size = @items.size

    # @return [Boolean]
    def empty? = @items.empty?

    # @return [String]
    def inspect = map(&:inspect).join(", ")
    alias_method :to_s, :inspect
  end
end
