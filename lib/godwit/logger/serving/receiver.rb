# frozen_string_literal: true

require_relative "durable_input"
require_relative "serving_thread"

module Godwit
  class Logger < ::Logger
    # Writes the records of durable writers (`Godwit::Logger.new(endpoint, durable: folder)`) into a
    # file: each record once, in order per writer, even if a process is killed meanwhile. `godwit
    # log serve --durable-in` and {Broadcaster} with `durable:` do the same, and pass the records on
    # to readers.
    #
    #   file = Godwit::Logger::Sink.new("app.log", rotate: :daily, keep: 14)
    #   receiver = Godwit::Logger::Receiver.new("tcp://127.0.0.1:7003", file)
    #   receiver.sink.write(records)          # other records for the same file go through here
    #   receiver.close
    #
    # The receiver acknowledges a record when it is in the file and in a journal beside the file
    # (app.log.journal). At the start it truncates the file to the size that the journal states;
    # writers send unacknowledged records again. This holds against kill -9 of writer or receiver,
    # and against a power cut with `fsync: true` on both. Records are duplicated or lost if the
    # journal is deleted, or replaced by an older copy.
    #
    # Its thread runs from {#initialize} to {#close}. **Threads**: any may call any method.
    # **Fork**: the receiver stays with the parent.
    class Receiver
      extend Keywords

      # Integers: records `written`; records that came `again`; messages that are `foreign`; bytes
      # `cut` off the file at the start. `last_error`: an Exception or nil.
      Stats = Struct.new(:written, :again, :foreign, :cut, :last_error, keyword_init: true)

      # Binds the endpoint and starts the thread.
      # @param endpoint [String] to bind
      # @param sink [Sink] a regular file, owned by the receiver from now on
      # @param context [Context, nil] of the socket; nil: the process's own
      # @param options [Hash] of the ROUTER socket (`curve:`…); `recv_hwm:` (256) of each writer's
      #   messages may wait, each of at most `max_message_size:` (1 MiB)
      # @raise [AddressInUseError] and other errors of {Godwit::Socket::Endpoints#bind}
      # @raise [BusyError] when another process has the file's journal
      # @raise [ArgumentValueError] when the sink is no regular file
      def initialize(endpoint, sink, context: nil, **options)
        raise Errors.bad_type(:receiver, "the sink", "a Logger::Sink", sink) unless sink.is_a?(Sink)
        @pid = Process.pid
        @socket = ROUTER.new(context: context, **DurableInput::OPTIONS, **options)
        @socket.bind(endpoint)
        @sink = Journal.new(sink)
        @input = DurableInput.new(@socket, @sink)
        @thread = ServingThread.new("godwit log receiver", [@input]).start
      rescue
        @socket&.close
        raise
      end

      # Writes other records into the same file, with `write(records)`, `reopen` and `close`.
      # @return [#write, #reopen, #close]
      attr_reader :sink
      # @return [String]
      def last_endpoint = @socket.last_endpoint
      # @return [Integer, nil] the bound port
      def port = @socket.port

      # @return [Stats]
      def stats
        Stats.new(written: @input.written, again: @input.again, foreign: @input.foreign,
          cut: @sink.cut, last_error: @input.error)
      end

      # Ends the thread. The writers send unacknowledged records again to the next receiver. The
      # sink stays open: `sink.close` closes it. A second call does nothing.
      # @return [nil]
      def close
        return if @pid != Process.pid
        @thread.stop
        @thread.wait
        @thread.close
        @socket.close
        nil
      end

      # @return [Boolean]
      def closed? = @socket.closed?
      # @return [String]
      def inspect = "#<#{self.class.name} #{@sink.sink.path}#{" (closed)" if closed?}>"
    end
  end
end
