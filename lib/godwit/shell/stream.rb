# frozen_string_literal: true

module Godwit
  module Shell
    # The rows of a command, as an Enumerator. `each`, `lazy`, `first`, `next`… start the command
    # for the first row, and read a row when the caller asks for it: meanwhile the command waits.
    # Each `each` runs the command again. The command is stopped when `each` ends early (`break`, an
    # exception, `first(n)`), by {#close}, when the stream is collected, and at exit.
    #
    # @example
    #   stream = Godwit::Shell.rows("find", "/")
    #   stream.lazy.grep(/test/).first(10)
    #   stream.status.stopped? # => true
    #
    # Threads and fibers may share a stream: each row of `next` goes to one of them. A forked child
    # may use its parent's stream, which starts a command of its own there.
    class Stream < Enumerator
      SEVERITIES = {out: 1, err: 2}.freeze # ::Logger's INFO and WARN
      private_constant :SEVERITIES

      # @return [Status, nil] of the run that ended last
      attr_reader :status

      # @private
      def initialize(plan)
        @plan = plan
        @jobs = []
        @pending = []
        @turn = Mutex.new
        @lock = Mutex.new # guards @jobs
        super() { |yielder| each { |row| yielder << row } }
      end

      # Runs the command, and yields its rows.
      # @yieldparam row [String] with `err: :rows` an Array of `:out` or `:err` and a String
      # @return [Status, self] self without a block
      # @raise [SystemCallError] such as Errno::ENOENT, when a command cannot be started
      # @raise [RowTooLongError] for a row above `limit:`
      # @raise [StateError] in a trap handler
      def each(&block)
        return self unless block
        job = nil
        begin
          start { |started| job = started }
          job.each(&block)
        ensure
          done(job)
        end
        @status
      end

      # Runs the command, and sends its rows to a socket or adds them to a logger.
      #
      # * To a **socket**: each row is a message, with `err: :rows` of two frames (`["out", row]`,
      #   `["err", row]`). At the socket's high-water mark this call waits, and the command with it.
      #   The stream's `timeout:` and `idle:` end that wait too: see {Status#timed_out}.
      # * To a **logger** (Godwit's, Ruby's, or an object with `add` like it): each row is a record,
      #   stdout at INFO, stderr at WARN; without `err:`, stderr is included. The program and its
      #   pid, `make[4242]`, are the tag where the logger has `tagged`, else the progname.
      #   The stream's limits do not end a write to a logger.
      #
      #     Godwit::Shell.rows("find", "/").into(push)
      #     Godwit::Shell.rows("make").into(log).success?
      #
      # @param target [Socket, ::Logger]
      # @param count [Integer, nil] stops the command after so many rows, 1 or more
      # @param timeout [Integer, Float, nil] seconds that a socket may make a batch wait; by default
      #   its `send_timeout`, for each row
      # @return [Status]
      # @raise [TimeoutError] when a socket accepts no row for so long; the command is stopped
      # @raise [ArgumentTypeError] for other targets: `each { |row| target << row }` serves them
      # @raise [SystemCallError, RowTooLongError] as {#each}
      # @raise [Error] of the socket, such as ClosedError
      def into(target, count: nil, timeout: Timeout::UNSET)
        Plan.check_count(:into, count)
        if target.is_a?(Socket)
          Timeout.check(timeout)
          delivery = nil
          started = ->(job) { delivery = Delivery.new(job, target) }
          batches(started: started, count: count) { |rows| delivery.send(rows, timeout) }
        elsif target.respond_to?(:add) && target.respond_to?(:info)
          into_log(target, count)
        else
          raise Errors.bad_type(
            :into, "the target", "a socket or a logger (for others: each { |row| target << row })",
            target
          )
        end
      end

      # Runs the command, and yields all rows that have arrived, as one Array.
      # @yieldparam rows [Array<String>] one or more; with `err: :rows` Arrays of Symbol and String
      # @return [Status, self] self without a block
      # @raise [SystemCallError, RowTooLongError] as {#each}
      def each_batch(&block) = block ? batches(&block) : self

      # @return [String, Array(Symbol, String)] the next row; the first call starts the command
      # @raise [StopIteration] at the end of the rows, at each call until {#rewind}
      def next = @turn.synchronize { upcoming && @pending.shift }
      # @return [String, Array(Symbol, String)] the row that {#next} gives next
      # @raise [StopIteration]
      def peek = @turn.synchronize { upcoming && @pending.first }
      # @return [Array(String)] the next row
      # @raise [StopIteration]
      def next_values = [self.next]
      # @return [Array(String)] as {#peek}
      # @raise [StopIteration]
      def peek_values = [peek]

      # Stops the command that {#next} started; the next `next` starts it again.
      # @return [self]
      def rewind
        @turn.synchronize { end_cursor }
        self
      end

      # Stops the running commands: for a thread in `each` or `next` the rows end. `each` may be
      # called again, and `next` after {#rewind}.
      # @return [Status, nil] of the run that ended last
      def close
        jobs.each do |job|
          done(job) { job.close(pending: job.equal?(@cursor) ? @pending.size : 0) }
        end
        @status
      end

      # Sends a signal to the process groups of the running commands.
      # @param name [Symbol, String, Integer] such as :INT
      # @return [self]
      # @raise [ArgumentValueError] when there is no such signal
      def signal(name)
        number = Processes.signal_number(name)
        jobs.each { |job| job.signal(number) }
        self
      end

      # @return [Boolean] whether a command of this stream runs
      def running? = !jobs.empty?
      # @return [nil] the number of rows is unknown before the end
      def size = nil

      if RUBY_ENGINE == "jruby"
        # Without a block JRuby would make a Stream that has no plan.
        %i[each_slice each_cons each_entry].each do |name|
          define_method(name) do |*size, &block|
            next super(*size, &block) if block
            Enumerator.new { |yielder| public_send(name, *size) { |rows| yielder << rows } }
          end
        end
      end

      # @return [String]
      def inspect = "#<#{self.class} #{@plan.name}#{" (runs)" if running?}>"
      alias_method :to_s, :inspect

      # @private
      # @param started [#call, nil] is called with the job once the command runs
      def batches(started: nil, count: nil)
        job = nil
        pending = 0
        begin
          start(reuse: false) { |running| job = running }
          started&.call(job)
          until count&.zero? # `loop` would rescue a StopIteration of the program's blocks
            rows = []
            job.advance { |row| rows << row }
            break if rows.empty?
            pending = rows.size - count if count && rows.size > count
            rows = rows.first(count) if count
            yield rows
            count -= rows.size if count
          end
        ensure
          done(job, pending: pending)
        end
        @status
      end

      # @private
      def initialize_copy(_) = raise(Errors.no_copy("stream", "make another with Shell.rows"))

      # @private
      # @return [String] a row with its separator, for another command's input
      def written(row)
        text = (row.is_a?(Array) ? row.last : row).b
        (@plan.chomp && @plan.sep != :chunk) ? text << @plan.sep.b : text
      end

      private

      def into_log(logger, count)
        if @plan.err == :inherit && !@plan.pty
          both = self.class.new(@plan.with(err: :rows))
          return @status = both.into(logger, count: count)
        end
        tag = nil
        batches(started: ->(job) { tag = job.tag }, count: count) do |rows|
          if logger.respond_to?(:tagged)
            logger.tagged(tag) { rows.each { |row| log(logger, row, nil) } }
          else
            rows.each { |row| log(logger, row, tag) }
          end
        end
      end

      def log(logger, row, name)
        kind, text = row.is_a?(Array) ? row : [:out, row]
        logger.add(SEVERITIES.fetch(kind), text, name)
      end

      # No interrupt and no {#close} may come between the start of the job and its entry in `@jobs`.
      def start(**options)
        Thread.handle_interrupt(Object => :never) do
          @lock.synchronize do
            job = Job.new(@plan, **options)
            yield job
            @jobs << job
          end
        end
      rescue ThreadError => error
        raise unless error.message.include?("trap context") # Ruby allows no lock in a trap handler
        raise Errors.build(StateError, @plan.operation, nil,
          "a trap handler cannot run commands: have it wake a thread that does"), cause: nil
      end

      # Ends a job, if there is one. An `ensure` calls this method without an `if` around the call:
      # an interrupt could come at the `if`, before this method masks interrupts.
      def done(job, **options, &end_it)
        Thread.handle_interrupt(Object => :never) { finish(job, **options, &end_it) if job }
      end

      def finish(job, **options)
        @status = block_given? ? yield(job) : job.finish(**options)
      ensure
        @lock.synchronize { @jobs.delete(job) }
      end

      def jobs = @lock.synchronize { @jobs.dup }

      def upcoming
        @pending.clear if @cursor&.closed?
        return true unless @pending.empty?
        raise @end if @end
        start(reuse: false) { |job| @cursor = job } unless @cursor
        @cursor.advance { |row| @pending << row }
        return true unless @pending.empty? || @cursor.closed?
        raise @end = ending(done(@cursor))
      rescue RowTooLongError, SystemCallError
        end_cursor
        raise
      end

      # Only Ruby's own Enumerator can set the result of a StopIteration.
      def ending(status)
        Enumerator.new { status }.next
      rescue StopIteration => stop
        stop
      end

      def end_cursor
        Thread.handle_interrupt(Object => :never) do
          done(@cursor, pending: @pending.size)
        ensure
          @cursor = @end = nil
          @pending.clear
        end
      end
    end
  end
end
