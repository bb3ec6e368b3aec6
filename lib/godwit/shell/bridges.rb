# frozen_string_literal: true

module Godwit
  module Shell
    # Hands a command's rows to a socket or a log.
    module Bridges
      SEVERITIES = {out: 1, err: 2}.freeze # ::Logger's INFO and WARN
      private_constant :SEVERITIES

      # Runs the command and hands its rows on.
      #
      # * To a **socket**: each row is a message, with `err: :rows` of two frames (`["out", row]`,
      #   `["err", row]`). At the socket's high-water mark this call waits, and the command with it.
      #   The stream's `timeout:` and `idle:` end that wait too: see {Status#timed_out}.
      # * To a **logger** (Godwit's, Ruby's, or an object with `add` like it): each row is a record,
      #   stdout at INFO, stderr at WARN; without `err:`, stderr is taken too. The program and its
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
      # @raise [TimeoutError] when a socket took nothing for so long; the command is stopped
      # @raise [ArgumentTypeError] for other targets: `each { |row| target << row }` serves them
      # @raise [SystemCallError, RowTooLongError] as {Stream#each}
      # @raise [Error] of the socket, such as ClosedError
      def into(target, count: nil, timeout: Timeout::UNSET)
        Bridges.check_count(:into, count)
        if target.is_a?(Socket)
          Timeout.milliseconds(timeout)
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

      # Runs the command, and yields all the rows that are there at once.
      # @yieldparam rows [Array<String>] one or more; with `err: :rows` Arrays of a Symbol and a
      #   String
      # @return [Status, self] self without a block
      # @raise [SystemCallError, RowTooLongError] as {Stream#each}
      def each_batch(&block) = block ? batches(&block) : self

      # @private
      # @param started [#call, nil] called once the command runs, with its job
      # @yieldparam rows [Array] as {#each_batch}
      def batches(started: nil, count: nil)
        job = nil
        pending = 0
        begin
          start(reuse: false) { |running| job = running }
          started&.call(job)
          loop do
            rows = []
            job.advance { |row| rows << row }
            break if rows.empty?
            pending = rows.size - count if count && rows.size > count
            rows = rows.first(count) if count
            yield rows
            break if count && (count -= rows.size).zero?
          end
        ensure
          done(job, pending: pending)
        end
        @status
      end

      # @private
      def self.messages(rows)
        rows.first.is_a?(Array) ? rows.map { |kind, row| [kind.name, row] } : rows
      end

      # @private
      def self.check_count(operation, count)
        return if count.nil?
        Errors.check_positive(operation, "count:", "a number of rows, 1 or more, or nil", count)
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
    end
  end
end
