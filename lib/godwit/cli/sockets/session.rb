# frozen_string_literal: true

require "io/wait"
require_relative "../signals"

module Godwit
  module CLI
    module Sockets
      # Moves messages between a socket, an input and an IO, until the input ends, a count or a time
      # is reached, or a signal comes. Threads do the work; the main thread waits for them.
      class Session
        GRACE = 0.5 # seconds for printing the messages that were received before a signal
        LINGER = 5 # seconds that unsent messages may delay the end if the socket also receives
        BATCH = 256 # most messages that a thread receives at once

        # Raised in a thread to end its wait.
        class Stop < StandardError; end

        # The socket is the only one of its context. Without an input the session sends only
        # replies. The settings are evaluate, echo, count, timeout, pause, wait_peers.
        def initialize(type, socket, notice, input, io, form, settings)
          @type = type
          @socket = socket
          @notice = notice
          @input = input
          @io = io
          @form = form
          # Ruby's buffer would delay the exit while the pipe of the output is full.
          io.sync = true
          io.binmode
          @evaluate, @echo, @remaining, @timeout, @pause, @peers =
            settings.values_at(:evaluate, :echo, :count, :timeout, :pause, :wait_peers)
        end

        def run
          Signals.queued("INT", "TERM") do |events|
            workers = [worker(events) { __send__(@type.work) }]
            beside = @type.work == :converse && @input
            workers << worker(events, side: true) { send_beside } if beside
            timer = Thread.new { sleep(@timeout) && events << :timed_out } if @timeout
            watcher = watch_output(events)
            finish(events.pop, workers)
          ensure
            [timer, watcher].compact.each(&:kill)
          end
        end

        private

        # Reports that the output's reader has closed the pipe. JRuby has no such wait.
        def watch_output(events)
          return if RUBY_ENGINE == "jruby" || !@io.respond_to?(:stat) || !@io.stat.pipe?
          Thread.new do
            @io.wait(IO::PRIORITY, nil)
            events << Errno::EPIPE.new
          end
        end

        # A new thread inherits the mask of its creator: a Stop interrupts it only in {#waiting}.
        # @param side [Boolean] whether the session continues when this worker ends
        def worker(events, side: false)
          Thread.handle_interrupt(Stop => :never) do
            Thread.new do
              yield
              next if side
              flush unless @stopping
              events << :done
            rescue Stop
              nil
            rescue Exception => error # standard:disable Lint/RescueException
              events << error unless events.closed?
            end
          end
        end

        # A Stop interrupts a thread only within this block.
        def waiting(&block) = Thread.handle_interrupt(Stop => :on_blocking, &block)

        def finish(outcome, workers)
          stop(workers)
          raise outcome if outcome.is_a?(Exception)
          raise SignalException, outcome if outcome == "TERM"
          {"INT" => EXIT[:interrupted], :timed_out => EXIT[:timed_out], :done => EXIT[:ok]}[outcome]
        end

        # A thread that a full pipe or the user's Ruby code blocks ends only at the process's exit.
        def stop(workers)
          @end = Timeout.now + GRACE
          @stopping = true
          workers.each { |worker| worker.raise(Stop) }
          workers.each { |worker| worker.join(Timeout.until(@end)) }
        end

        # Waits until libzmq has sent all messages. If the socket also receives, its peer may have
        # departed, so the wait has a limit.
        def flush
          @socket.close
          closing = Worker.new { @socket.context.close }
          waiting { closing.join((@type.work == :send_all) ? nil : LINGER) }
        end

        def send_all
          send_input { |frames| (found = evaluated(frames)) && deliver(found) }
          # A closed socket has no PeerNotice, so this wait for a peer comes before the close.
          waiting { @notice.wait(1) } if @type.name == :push
        end

        def send_beside
          send_input do |frames|
            deliver(frames)
            nil
          end
        end

        def request_all
          send_input do |frames|
            waiting { @socket.send(frames) }
            frames = waiting { @socket.recv_multipart }
            print([evaluated(frames)].compact)
          end
        end

        def reply_all
          each_batch(1) do |batch|
            print(batch)
            answer = @input ? waiting { @input.next } : evaluated(*batch)
            break unless answer || @evaluate
            deliver(answer || [""])
            count(1)
          end
        end

        def print_all
          each_batch do |batch|
            batch = batch.filter_map { |frames| @evaluate.call(frames) } if @evaluate
            print(batch)
            count(batch.size)
          end
        end

        def converse
          each_batch do |batch|
            routes = @type.name == :router
            printed = routes ? batch : batch.filter_map { |frames| evaluated(frames) }
            print(printed)
            batch.each { |frames| deliver(frames) } if @echo
            batch.each { |frames| deliver_to_sender(frames) } if routes && @evaluate
            count(batch.size)
          end
        end

        def print(messages)
          @io.write(messages.map { |frames| @form.encode(frames).b }.join) if messages.any?
        end

        # Waits for a message, and yields all messages that are there. After a signal does not wait.
        def each_batch(size = BATCH)
          until done?
            most = [size, @remaining].compact.min
            begin
              batch = @stopping ? received(most) : waiting { @socket.recv_many(most) }
            rescue Stop
              retry
            end
            break unless batch
            yield batch.map { |message| [*message] }
          end
        end

        def received(most)
          @socket.recv_many(most, timeout: 0, exception: false) if Timeout.now < @end
        end

        # @yieldreturn [Object] nil: the message was not sent and is not counted
        def send_input
          wait_for_peers if @peers
          due = Timeout.now
          until done?
            frames = waiting { @input.next } or break
            waiting { sleep(Timeout.until(due)) } if @pause
            due += @pause if @pause
            count(1) if yield(frames)
          end
        end

        def wait_for_peers
          return waiting { @socket.wait_connected(count: @peers) } if @type.name == :pub
          waiting { @notice.wait(@peers) }
        end

        # A ROUTER raises an error for an id that no peer has.
        def deliver(frames)
          waiting { @socket.send(frames) }
        rescue UnreachableError
          warn "godwit: no peer has the id #{frames.first.dump}"
        end

        # A message from a REQ has an empty frame behind the routing id.
        def deliver_to_sender(frames)
          envelope = frames.first((frames[1] == "") ? 2 : 1)
          answer = @evaluate.call(frames.drop(envelope.size))
          deliver(envelope + answer) if answer
        end

        def evaluated(frames) = @evaluate ? @evaluate.call(frames) : frames
        def count(number) = @remaining && @remaining -= number
        def done? = @remaining&.<=(0)
      end
    end
  end
end
