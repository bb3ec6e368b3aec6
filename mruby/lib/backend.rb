# frozen_string_literal: true

module Godwit
  # Every wait of the gem is a call of {.call}, with no C function of the gem on the stack. A
  # program with its own event loop redefines it and suspends the fiber there.
  module Wait
    # Waits until an event may have come. The caller tries again and may wait again.
    # @param waiter [Socket, Poller] what waits
    # @param events [Integer, nil] of a Socket: 1 readable, 2 writable, 3 both; nil of a Poller
    # @param milliseconds [Integer] -1 is for ever
    # @return [Boolean] false when time is up
    def self.call(waiter, events, milliseconds) = waiter._poll(events, milliseconds)

    # Godwit calls this method before a socket closes, and before the socket gets another libzmq
    # socket. A program with its own event loop ends the socket's waits there.
    # @param closing [Socket, Context] a Context: before it closes its sockets
    def self.close(closing)
    end
  end

  module Backend
    # libzmq through the C half of the gem (mruby/src). Its calls never wait; the loops are here.
    # @private
    module MRuby
      NAME = :mruby

      def self.draft? = false

      # @return [Exception] with the hint for its class
      def self.error(klass, operation, object)
        Errors.build(klass, operation, nil, ErrorHints.for(klass, operation, object, nil))
      end

      # @return [Numeric] for {.wait}: ms on the monotonic clock; -1 for ever, 0 no wait
      def self.deadline(milliseconds)
        (milliseconds > 0) ? now * 1000 + milliseconds : milliseconds
      end

      # The loops have no block. When a method returns, mruby copies the variables of its blocks;
      # if it has no memory for the copy, a message that was received would be lost.
      # @return [Boolean] false when time is up
      def self.wait(waiter, events, deadline)
        return Wait.call(waiter, events, -1) if deadline < 0
        remaining = (deadline == 0) ? 0 : (deadline - now * 1000).ceil
        remaining > 0 && Wait.call(waiter, events, remaining)
      end

      # The primitives of a Socket that may wait (lib/godwit/backend/contract.rb).
      module SocketPrimitives
        READABLE = 1
        WRITABLE = 2
        CUT = "a peer vanished in the middle of this request, and a bound REQ cannot be " \
          "recreated: close the socket"

        def _send(message, milliseconds, _tracker)
          sent = _try_send(message)
          return sent if sent
          deadline = MRuby.deadline(milliseconds || _timeout(WRITABLE))
          while wait_to_send(sent, deadline)
            sent = _try_send(message)
            return sent if sent
          end
        end

        def _send_many(messages, first, milliseconds)
          return 0 if first >= messages.size
          sent = _try_send_many(messages, first)
          return sent if sent
          deadline = MRuby.deadline(milliseconds || _timeout(WRITABLE))
          until sent
            return 0 unless wait_to_send(sent, deadline)
            sent = _try_send_many(messages, first)
          end
          sent
        end

        def _recv(milliseconds) = _try_recv || receive_later(milliseconds)

        def _recv_many(most, milliseconds)
          messages = _try_recv_many(most)
          return messages if messages
          deadline = MRuby.deadline(milliseconds || _timeout(READABLE))
          until messages
            return unless MRuby.wait(self, READABLE, deadline)
            messages = _try_recv_many(most)
          end
          messages
        end

        def _wait(events, milliseconds)
          deadline = MRuby.deadline(milliseconds || -1)
          while (ready = _events & events) == 0
            return unless MRuby.wait(self, events, deadline)
          end
          ready
        end

        def _close
          Wait.close(self) unless _closed?
          _close_now
        end

        def _reopen
          Wait.close(self)
          _reopen_now
        end

        def _exclusive(_operation) = yield

        def _record(variable)
          instance_variable_set(variable, yield(instance_variable_get(variable)))
        end

        private

        # After a try that would have blocked.
        def receive_later(milliseconds)
          deadline = MRuby.deadline(milliseconds || _timeout(READABLE))
          while MRuby.wait(self, READABLE, deadline)
            message = _try_recv
            return message if message
          end
        end

        # @param sent [nil, false] nil: the send would block; false: a REQ's frames were cut off
        def wait_to_send(sent, deadline)
          return MRuby.wait(self, WRITABLE, deadline) if sent.nil?
          _recreate || raise(Errors.build(StateError, :send, nil, CUT))
        end
      end

      # Public methods of a Socket that first try without a wait. Keywords cost mruby as much time
      # as a small message, so only the slow path has them.
      module Takeover
        UNSET = Timeout::UNSET

        def <<(message) = _try_send(message) || send_waiting(message)

        def send(message, keywords = nil)
          return send_waiting(message, **keyword_hash(keywords, 1)) if keywords
          _try_send(message) || send_waiting(message)
        end

        def recv(keywords = nil)
          return recv_waiting(**keyword_hash(keywords, 0)) if keywords
          _try_recv || receive_later(nil) || timed_out(:recv, true)
        end

        private

        def keyword_hash(keywords, arguments)
          return keywords if keywords.is_a?(Hash)
          raise ArgumentError,
            "wrong number of arguments (given #{arguments + 1}, expected #{arguments})"
        end

        def send_waiting(message, timeout: UNSET, exception: true)
          return self if _send(message, Timeout.milliseconds(timeout), nil)
          timed_out(:send, exception)
        end

        def recv_waiting(timeout: UNSET, exception: true)
          _recv(Timeout.milliseconds(timeout)) || timed_out(:recv, exception)
        end
      end

      # The primitives of a Poller.
      module PollerPrimitives
        READABLE = 1
        WRITABLE = 2

        # One Socket or IO; `source` is what C polls: the Socket, or the IO's descriptor.
        class Member
          attr_reader :object, :io, :source
          attr_accessor :bits

          def initialize(object, io, source, bits)
            @object = object
            @io = io
            @source = source
            @bits = bits
          end

          # Whether it was closed while it was registered.
          def closed? = (io || object).closed?

          # Whether mruby has read bytes of the IO ahead.
          def buffered?
            bytes = io && (bits & READABLE) != 0 && io.instance_variable_get(:@buf)
            bytes.is_a?(String) && !bytes.empty?
          end
        end

        def _open
          @members = []
          @generation = MRuby.generation
        end

        def _close
          raise MRuby.error(ForkedError, :close, self) if @members && _forked?
          @members = nil
        end

        def _closed? = @members.nil?
        def _forked? = !@generation.nil? && @generation != MRuby.generation

        def _register(object, io, bits)
          members = opened(:register)
          source = io ? descriptor(:register, object, io, bits) : usable(object)
          return false if members.any? { |member| member.object.equal?(object) }
          if io && members.any? { |member| member.source == source }
            raise Errors.build(PollerError, :register, nil, "another IO over the descriptor of " \
              "#{object.inspect} is registered: remove that one first")
          end
          members << Member.new(object, io, source, bits)
          true
        end

        def _modify(object, bits)
          member = opened(:modify).find { |one| one.object.equal?(object) }
          return false unless member
          raise closed_member(member, :modify) if member.closed?
          descriptor(:modify, object, member.io, bits) if member.io
          member.bits = bits
          true
        end

        def _remove(object)
          members = opened(:remove)
          remaining = members.reject { |member| member.object.equal?(object) }
          return false if remaining.size == members.size
          @members = remaining
          true
        end

        def _members(operation)
          opened(operation).inject([]) { |list, member| list << member.object << member.bits }
        end

        def _wait(milliseconds)
          if opened(:wait).empty? && milliseconds < 0
            raise Errors.build(PollerError, :wait, nil, "nothing is registered, so this would " \
              "wait for ever: register something, or give a timeout")
          end
          deadline = MRuby.deadline(milliseconds)
          while (ready = ready_members(0)).empty?
            return unless MRuby.wait(self, nil, deadline)
          end
          ready
        end

        # Waits until a member is ready.
        def _poll(_events, milliseconds) = !ready_members(milliseconds).empty?

        private

        def opened(operation)
          raise MRuby.error(ClosedError, operation, self) unless @members
          raise MRuby.error(ForkedError, operation, self) if _forked?
          @members
        end

        def usable(socket)
          raise MRuby.error(ClosedError, :register, socket) if socket.closed?
          raise MRuby.error(ForkedError, :register, socket) if socket.forked?
          socket
        end

        def descriptor(operation, object, io, bits)
          if io.closed?
            raise Errors.build(ClosedError, operation, nil,
              "#{object.inspect} is closed: register it while it is open")
          end
          lacking = bits & ~MRuby.open_for(io.fileno)
          return io.fileno if lacking == 0
          use = ((lacking & WRITABLE) == 0) ? "reading" : "writing"
          raise Errors.build(UnsupportedError, operation, nil,
            "#{object.inspect} is not open for #{use}")
        end

        def closed_member(member, operation)
          Errors.build(ClosedError, operation, nil, "#{member.object.inspect} was closed while " \
            "it was registered: remove it from the poller")
        end

        # @return [Array] object, bits, object, bits…
        def ready_members(milliseconds)
          members = opened(:wait)
          sources = []
          ready = []
          members.each do |member|
            raise closed_member(member, :wait) if member.closed?
            ready << member.object << READABLE if member.buffered?
            sources << member.source << member.bits
          end
          found = MRuby.poll(sources, ready.empty? ? milliseconds : 0)
          index = 0
          while index < found.size
            member = members[found[index]]
            ready << member.object << found[index + 1] unless member.buffered?
            index += 2
          end
          ready
        end
      end
    end

    IMPLEMENTATION = MRuby
    TAKEOVER = MRuby::Takeover
  end

  # @private
  BACKEND = Backend::IMPLEMENTATION::NAME

  class Context
    class << self
      # @return [Context, nil] this VM's object for the process's default context
      def _default = @default&.usable? ? @default : nil
      def _propose(context) = @default = context._adopt
    end

    def _close
      Wait.close(self) unless _closed?
      _close_now
    end
  end

  class Socket
    include Backend::MRuby::SocketPrimitives
  end

  class Poller
    include Backend::MRuby::PollerPrimitives
  end
end
