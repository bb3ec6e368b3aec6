# frozen_string_literal: true

module Godwit
  module Shell
    # How a command ended, and how much output it gave.
    class Status
      UNKNOWN =
        'status unknown: other code took it (Process.wait, or trap("CHLD", "IGNORE"))'
      private_constant :UNKNOWN

      # @return [String] the command, as a user would type it
      attr_reader :command
      # @return [Integer, nil] the command's exit status; nil after a signal, or when it is unknown
      attr_reader :exitstatus
      # @return [Symbol, nil] the signal that ended the command, such as :TERM
      attr_reader :signal
      # @return [Integer] rows that were yielded
      attr_reader :rows
      # @return [Integer] bytes that were read from the command's stdout
      attr_reader :bytes
      # @return [Float] seconds from the command's start to its end
      attr_reader :seconds
      # @return [String, nil] the last 64 KiB of the command's stderr, with `err: :tail`
      attr_reader :stderr_tail
      # @return [Symbol, nil] `:timeout` or `:idle`: the option whose time was up
      attr_reader :timed_out
      # @return [Array<Status>] the statuses of a pipeline's commands, in their order; for a single
      #   command only this status
      attr_reader :stages

      # @private
      def self.of(plan, children, **facts)
        if children.size > 1
          stages = children.map do |child|
            new(command: Plan.shown(child.words), process: child.status, ok: plan.ok,
              seconds: facts[:seconds])
          end.freeze
        end
        process = decisive(children.map(&:status), plan.ok)
        new(command: plan.name, process: process, stages: stages, ok: plan.ok, **facts)
      end

      # Finds the last stage that failed, as a shell's pipefail does. SIGPIPE is a failure only of
      # the last stage. If none failed, returns the last status; nil if a stage's status is unknown.
      def self.decisive(statuses, ok)
        *upstream, last = statuses
        upstream.reject! { |status| status&.termsig == Signal.list["PIPE"] }
        all = [*upstream, last]
        failed = all.compact.reverse.find { |status| !ok.include?(status.exitstatus) }
        failed || (last unless all.include?(nil))
      end
      private_class_method :decisive

      # @private
      def initialize(
        command:, process: nil, stages: nil, ok: [0], rows: 0, bytes: 0, seconds: 0.0,
        stderr_tail: nil, timed_out: nil, stopped: false, truncated: false
      )
        @command = command
        @ok = ok
        @exitstatus = process&.exitstatus
        @signal =
          process&.termsig && (Signal.signame(process.termsig) || process.termsig.to_s).to_sym
        @unknown = process.nil?
        @rows = rows
        @bytes = bytes
        @seconds = seconds
        @stderr_tail = stderr_tail
        @timed_out = timed_out
        @stopped = stopped
        @truncated = truncated
        @stages = stages || [self]
        freeze
      end

      # @return [Boolean] whether the command ended by itself with exit status 0, or one of `ok:`;
      #   of a pipeline every stage (a stage that ended by SIGPIPE did not fail)
      def success? = !@stopped && !timed_out? && !@unknown && @ok.include?(@exitstatus)
      # @return [Boolean] whether the command failed, and was not stopped on purpose. {Shell.run}
      #   raises for a failure, and for an unknown status
      def failed? = timed_out? || !(@stopped || @unknown || success?)
      # @return [Boolean] whether `timeout:` or `idle:` ended the command; {#timed_out} says which
      def timed_out? = !@timed_out.nil?
      # @return [Boolean] whether `break`, an exception or `close` stopped the command early
      def stopped? = @stopped
      # @return [Boolean] whether the exit status is unknown: other code of this process reaped the
      #   command (`Process.wait`), or the kernel did (`trap("CHLD", "IGNORE")`)
      def unknown? = @unknown
      # @return [Boolean] whether another process still had the command's stdout open when `drain:`
      #   seconds had passed after the command's end; later output of that process is missing
      def truncated? = @truncated

      # @param _keys [Array<Symbol>, nil]
      # @return [Hash] for pattern matching
      def deconstruct_keys(_keys)
        {
          command: command, exitstatus: exitstatus, signal: signal, rows: rows, bytes: bytes,
          seconds: seconds, stderr_tail: stderr_tail, timed_out: timed_out, success: success?,
          stopped: stopped?, unknown: unknown?, truncated: truncated?
        }
      end

      # @return [String] how the command ended, in words
      def to_s
        return "#{(timed_out == :idle) ? "no row" : "no end"} in time (#{timed_out}:)" if timed_out?
        return "stopped" if stopped?
        return UNKNOWN if unknown?
        signal ? "killed by SIG#{signal}" : "exit status #{exitstatus}"
      end

      # @return [String]
      def inspect
        "#<#{self.class} #{command}: #{self}, #{rows} rows, #{bytes} bytes, #{seconds.round(3)} s>"
      end
    end
  end

  class CommandError
    LINES = 10
    private_constant :LINES

    # @return [Shell::Status] how the command ended
    attr_reader :status
    # @private
    attr_writer :status

    # @private
    # @return [CommandError] with the last lines of stderr, if the status has them
    def self.of(status)
      text = "run #{status.command}: #{status}"
      last = status.stderr_tail.to_s.scrub("?").lines.last(LINES).join.chomp
      unless last.empty?
        text << "\n" << last.encode(text.encoding, invalid: :replace, undef: :replace)
      end
      new(text, operation: :run).tap { |error| error.status = status }
    end
  end
end
