# frozen_string_literal: true

require "io/wait"
require_relative "../worker"

module Godwit
  class Logger < ::Logger
    # What a logger has to say of itself goes to $stderr, and there not more than once in a while.
    # @private
    class Warnings
      PERIOD = 10 # seconds
      # What a pipe that can be written to takes without waiting.
      MOST_BYTES = 4096
      # Seconds that the last words wait for who reads $stderr.
      PATIENCE = 0.1

      def initialize(endpoint)
        @endpoint = endpoint
        @held = 0
      end

      # @param text [String]
      # @param always [Boolean] whether it is said in any case
      def call(text, always: false)
        now = Timeout.now
        return @held += 1 if !always && @last && now - @last < PERIOD
        return @held += 1 unless taken?(always ? PATIENCE : 0)
        @last = now
        more = " (and #{@held} more since the last such line)" if @held.positive?
        @held = 0
        # One write, of which a trap handler takes no lock.
        line = "godwit: log to #{@endpoint}: #{text}#{more}\n"
        write(
          (
            if line.bytesize > MOST_BYTES
              "#{line.byteslice(0, MOST_BYTES - 4).scrub("")}...\n"
            else
              line
            end
          )
        )
      rescue
        nil # there is nobody left to tell
      end

      private

      # A pipe that nobody reads would hold up the program.
      if RUBY_ENGINE == "jruby"
        # Java does not tell whether it takes something, so one thread may hang in it.
        def taken?(_seconds) = @writing.nil? || !@writing.join(0).nil?

        def write(line)
          stderr = $stderr
          return stderr.write(line) unless stderr.is_a?(::IO)
          writing = Worker.detached do
            stderr.write(line)
          rescue
            nil
          end
          @writing = writing unless writing.join(PATIENCE)
        end
      else
        # In a fiber of its own, since a scheduler may not know how to wait for a file.
        def taken?(seconds)
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
