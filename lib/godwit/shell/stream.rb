# frozen_string_literal: true

module Godwit
  module Shell
    # The rows of a command, as an Enumerator. `each`, `lazy`, `first`, `next`… start the command
    # for the first row, and read as rows are asked for: meanwhile the command waits. Each `each`
    # runs the command anew. It is stopped when `each` is left (`break`, an exception, `first(n)`),
    # by {#close}, when the stream is collected, and at exit.
    #
    # @example
    #   stream = Godwit::Shell.rows("find", "/")
    #   stream.lazy.grep(/test/).first(10)
    #   stream.status.stopped? # => true
    #
    # Threads and fibers may share a stream: each row of `next` goes to one of them. A forked child
    # may use its parent's stream, which starts a command of its own there.
    class Stream < Enumerator
      include Bridges

      # @return [Status, nil] of the run that ended last
      attr_reader :status

      # @private
      def initialize(plan)
        @plan = plan
        @jobs = []
        @pending = []
        @turn = Mutex.new
        @lock = Mutex.new # of @jobs
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

      # @return [String, Array(Symbol, String)] the next row; the first call starts the command
      # @raise [StopIteration] at its end, again and again until {#rewind}
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

      # Stops the command that {#next} started; the next `next` starts it anew.
      # @return [self]
      def rewind
        @turn.synchronize { drop_cursor }
        self
      end

      # Stops the running commands: a thread in `each` or `next` finds the rows at an end. `each`
      # may be called again, and `next` after {#rewind}.
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
        number = Signals.number(name)
        jobs.each { |job| job.signal(number) }
        self
      end

      # @return [Boolean] whether a command of this stream runs
      def running? = !jobs.empty?
      # @return [nil] it is unknown before the end
      def size = nil
      # @return [String]
      def inspect = "#<#{self.class} #{@plan.name}#{" (runs)" if running?}>"
      alias_method :to_s, :inspect

      # @private
      def initialize_copy(_) = raise(Errors.no_copy("stream", "make another with Shell.rows"))

      # @private
      # @return [String] a row with its separator, for another command's input
      def written(row)
        text = (row.is_a?(Array) ? row.last : row).b
        (@plan.chomp && @plan.sep != :chunk) ? text << @plan.sep.b : text
      end

      private

      # No interrupt and no close may come before the job is in `@jobs`.
      def start(**options)
        Thread.handle_interrupt(Object => :never) do
          @lock.synchronize do
            job = Job.new(@plan, **options)
            yield job
            @jobs << job
          end
        end
      rescue ThreadError => error
        raise unless error.message.include?("trap context") # where Ruby allows no lock
        raise Errors.build(StateError, @plan.operation, nil,
          "a trap handler cannot run commands: have it wake a thread that does"), cause: nil
      end

      # Ends a job. An `ensure` calls this first, without even an `if`, so that no interrupt comes
      # before the mask; so the job may be nil.
      def done(job, **options, &end_it)
        Thread.handle_interrupt(Object => :never) { settle(job, **options, &end_it) if job }
      end

      def settle(job, **options)
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
        drop_cursor
        raise
      end

      # Only Ruby's own Enumerator can set the result of a StopIteration.
      def ending(status)
        Enumerator.new { status }.next
      rescue StopIteration => stop
        stop
      end

      def drop_cursor
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
