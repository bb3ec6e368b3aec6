# frozen_string_literal: true

module Godwit
  module Shell
    # One run of a plan: reads when its caller wants rows, and waits for all pipes and processes at
    # once. When a job is collected, a finalizer ends its processes.
    # @private
    class Job
      # After so many reads (YIELD_EVERY) or rows (ROWS) without a wait, other fibers run, and the
      # job polls its processes.
      YIELD_EVERY = 16
      ROWS = 2_000
      # Seconds between two checks for a stopped child, which no descriptor reports.
      STOPPED_POLL_INTERVAL = 0.5
      # Signals of a terminal or the system that end a program. A command gets the signal that ended
      # its caller.
      FORWARDED = %w[INT TERM HUP QUIT].to_h { |name| [Signal.list[name], name.to_sym] }.freeze

      attr_reader :status
      # @return [Integer] rows that were read and not sent to a socket
      attr_writer :undelivered

      def initialize(plan, reuse: plan.reuse)
        @plan = plan
        @clock = Clock.new(plan)
        @reads_since_yield = @counted_rows = @undelivered = 0
        @terminal = !plan.foreground && Job.terminal?
        @processes = Processes.new(plan.grace)
        launch = Launch.new(plan, @processes)
        Reaper.watch(@processes)
        @poller = Poller.new
        @exits = {}.compare_by_identity # pidfd, or pid on a system without pidfds => Child
        @all = sources(launch, reuse).freeze
        @sources = @all.dup
        @sources.each { |source| @poller.register(source.io) }
        @processes.children.each { |child| await_exit(child) }
        @input = launch.input
        if @input
          @stdin_writer = StdinWriter.new(launch.content, @input, @processes, terminal: plan.pty)
        end
        open = [@poller, *@all.map(&:io), *@exits.keys.grep(IO)]
        ObjectSpace.define_finalizer(self, Reaper.finalizer(@processes, @stdin_writer, open))
        ready = true
      ensure
        abandon(launch) unless ready
      end

      # @return [Boolean] whether this process has a terminal
      def self.terminal?
        File.open("/dev/tty") { true }
      rescue SystemCallError
        false
      end

      # Yields rows until all is read and all processes have exited.
      def each(&block)
        turn(&block) until over?
      end

      # Yields one or more rows, after a wait for the first. At the end of the rows it yields none.
      def advance(&block)
        @clock.resume
        rows = 0
        until over? || rows.positive?
          # An interrupt after a read and before the yield of its rows would lose rows.
          Runtime.defer_interrupts do
            turn do |row|
              rows += 1
              block.call(row)
            end
          end
        end
      end

      def limits = @clock.limits

      # Ends the rows, since the socket that gets the rows was blocked beyond a limit.
      def expire(name)
        @clock.expire(name)
        @over = true
      end

      def closed? = @closed || false

      # @return [String] the programs and their pids, such as `make[4242]`
      def tag
        @processes.children
          .map { |child| "#{File.basename(child.words.first)}[#{child.pid}]" }.join("|")
      end

      def signal(name) = @processes.signal(name)

      # Ends the run. Any thread may call this: for a thread that waits for rows, the rows end.
      def close(pending: 0)
        @closed = true
        finish(pending: pending)
      end

      # Closes the pipes, ends and reaps the processes.
      # @param pending [Integer] rows that were read and not given to the caller
      def finish(pending: 0)
        return @status if @status
        Thread.handle_interrupt(Object => :never) do
          first = forwarded
          @stdin_writer&.kill
          # The poller closes first, so that no waiting thread polls a closed pipe.
          @poller.close unless @processes.forked?
          @all.each(&:close)
          @processes.stop(first)
        ensure
          @exits.keys.grep(IO).each(&:close)
          @stdin_writer&.finish
          @input&.close
          ObjectSpace.undefine_finalizer(self) if @processes.settled?
          @status ||= report(pending)
        end
        @status
      end

      private

      # Closes what the failed constructor has opened.
      def abandon(launch)
        [launch&.out, launch&.err, launch&.input, *@exits&.keys&.grep(IO)].compact.each(&:close)
        @stdin_writer&.finish
        @poller&.close
        @processes&.stop
      end

      def over? = @over || @closed

      # Reads each pipe at most once. Waits if no pipe had data.
      def turn(&block)
        refuse_child if @processes.forked?
        busy = false
        @sources.delete_if do |source|
          result = source.read(@clock.deadline, &block)
          raise too_long if result == :too_long
          busy = true if result == :more
          result == :ended && close_source(source)
        end
        return if over?
        raise @stdin_writer.error if @stdin_writer&.error
        return @over = true if @sources.empty? && @exits.empty?
        return @over = true if @clock.over?(@sources, ended: @exits.empty?)
        return wait(@clock.remaining) unless busy
        return if (@reads_since_yield += 1) % YIELD_EVERY != 0 && few?
        let_others_run
        wait(0)
      end

      def refuse_child
        raise ForkedError, "#{@plan.operation}: the command was started before fork: start it " \
          "anew in this process"
      end

      def few?
        rows = @all.sum(&:rows)
        return true if rows - @counted_rows < ROWS
        @counted_rows = rows
        false
      end

      # Poller#wait seldom lets other fibers run when a source is readable at once.
      def let_others_run
        sleep(0) if Fiber.respond_to?(:current_scheduler) && Fiber.current_scheduler
      end

      def close_source(source)
        unless_closed { @poller.remove(source.io) }
        source.close
        true
      end

      # Ignores the errors that another thread's {#close} of the pipes causes.
      def unless_closed
        yield
      rescue ClosedError, IOError, Errno::EBADF
        raise unless @closed
      end

      def wait(seconds)
        unseen = @exits.each_key.grep(Integer)
        seconds = [seconds, Pidfd::POLL_INTERVAL].compact.min unless unseen.empty?
        seconds = [seconds, STOPPED_POLL_INTERVAL].compact.min if @terminal
        unless_closed do
          @poller.wait(seconds).map(&:object).each { |io| handle_exit(io) if @exits.key?(io) }
        end
        unseen.each { |pid| @exits.delete(pid) if @exits[pid].exited? }
        refuse_terminal if @terminal
      end

      def refuse_terminal
        return if Timeout.now - (@terminal_seen || 0) < STOPPED_POLL_INTERVAL
        @terminal_seen = Timeout.now
        child = @processes.wanting_terminal or return
        raise StateError.new("#{@plan.operation} #{Plan.shown(child.words)}: it uses the " \
          "terminal, and was stopped since it does not have it: give it the terminal by " \
          "foreground: true", operation: @plan.operation)
      end

      def await_exit(child)
        io = Pidfd.of(child.pid)
        @poller.register(io) if io
        @exits[io || child.pid] = child
      end

      def handle_exit(io)
        @poller.remove(io)
        io.close
        @exits.delete(io)
      end

      def too_long
        RowTooLongError.new("#{@plan.operation} #{@plan.name}: a row has more than " \
          "#{@plan.limit} bytes (raise limit:, or take long: :split or :cut)",
          operation: @plan.operation)
      end

      def sources(launch, reuse)
        if launch.out
          @out = Source.new(launch.out, @plan, kind: (:out if @plan.err == :rows), reuse: reuse)
        end
        [@out, *(error_source(launch.err, reuse) if launch.err)].compact
      end

      def error_source(io, reuse)
        case err = @plan.err
        when :rows then Source.new(io, @plan, kind: :err, reuse: reuse)
        when :tail then @tail = Tail.new(io, @plan)
        else
          rows = err.respond_to?(:call)
          return Source.new(io, @plan, reuse: reuse) { |row| err.call(row) } if rows
          Source.new(io, @plan, sep: :chunk, reuse: false) { |bytes| err.write(bytes) }
        end
      end

      # @return [Symbol] the first signal for the command: the signal that ends the caller, or TERM
      def forwarded
        cause = $! # standard:disable Style/SpecialGlobalVars -- English is one more library
        (cause.is_a?(SignalException) && FORWARDED[cause.signo]) || :TERM
      end

      def report(pending)
        Status.of(@plan, @processes.children,
          rows: @all.sum { |source| source.yields? ? source.rows : 0 } - pending - @undelivered,
          bytes: @out ? @out.bytes : 0, seconds: @clock.spent,
          stderr_tail: @tail&.text(@plan.encoding), timed_out: @clock.timed_out,
          truncated: @clock.truncated?, stopped: !@over)
      end
    end
  end
end
