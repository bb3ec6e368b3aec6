# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # A logger's own messages on $stderr, at most once in {PERIOD} seconds.
    class Warnings
      PERIOD = 10 # seconds
      MAX_BYTES = 4096 # bytes of one write; a writable pipe accepts so many without waiting
      WRITE_TIMEOUT = 0.1 # seconds that an `always:` message waits for space in $stderr's pipe

      def initialize(endpoint)
        @endpoint = endpoint
        @held = 0
      end

      # @param always [Boolean] whether the message may follow another line within {PERIOD}
      def call(text, always: false)
        now = Timeout.now
        return hold(text) if !always && @last && now - @last < PERIOD
        return hold(text) unless writable?(always ? WRITE_TIMEOUT : 0)
        @last = now
        said = lines(text)
        @held = 0
        # One write prints all lines: a trap handler needs no lock for it.
        write(said.map { |line| shortened(line, MAX_BYTES / said.size) }.join)
      rescue
        nil # $stderr is closed
      end

      def kept(count, folder)
        call("#{Text.count(count, "is", "are")} kept in #{folder} for the next start", always: true)
      end

      def gone(count, folder, always: false)
        return unless count.positive?
        call("#{Text.count(count, "was", "were")} in #{folder}, which is gone", always: always)
      end

      private

      def hold(text)
        @held_text = text
        @held += 1
      end

      # Counts the suppressed lines; prints the last one before the new line if its text differs.
      def lines(text)
        return [line(text, @held)] if @held.zero? || text == @held_text
        [line(@held_text, @held - 1), line(text, 0)]
      end

      def line(text, held)
        more = " (and #{held} more since the last such line)" if held.positive?
        "godwit: log to #{@endpoint}: #{text}#{more}\n"
      end

      def shortened(line, bytes)
        return line if line.bytesize <= bytes
        "#{line.byteslice(0, bytes - 4).scrub("")}...\n"
      end

      # A write to a full pipe that no process reads would block the program.
      if RUBY_ENGINE == "jruby"
        # Java cannot tell whether a write would block, so a thread writes, and may hang.
        def writable?(_seconds) = @writing.nil? || !@writing.join(0).nil?

        def write(line)
          stderr = $stderr
          return stderr.write(line) unless stderr.is_a?(::IO)
          @writing = Worker.detached do
            stderr.write(line)
          rescue
            nil
          end
          @writing.join(WRITE_TIMEOUT)
        end
      else
        # The wait runs in a blocking fiber, since a scheduler may be unable to wait for a file.
        def writable?(seconds)
          stderr = $stderr
          !stderr.is_a?(::IO) ||
            !Fiber.new(blocking: true) { stderr.wait_writable(seconds) }.resume.nil?
        end

        def write(line) = $stderr.write(line)
      end
    end
    private_constant :Warnings
  end
end
