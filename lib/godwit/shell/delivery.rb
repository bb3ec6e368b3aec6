# frozen_string_literal: true

module Godwit
  module Shell
    # Sends the rows of a run to a socket. While the socket accepts no row, the command's `timeout:`
    # and `idle:` can end the run; the time-out of {Stream#into} or of the socket raises an error.
    # @private
    class Delivery
      COMMAND = %i[timeout idle].freeze

      def initialize(job, socket)
        @job = job
        @socket = socket
      end

      # @param own [Numeric, nil] seconds for all these rows; UNSET: `send_timeout` for each row
      def send(rows, own)
        @messages = rows.map { |row| row.is_a?(Array) ? [row[0].name, row[1]] : row }
        start = Timeout.now
        until @messages.empty?
          # The first try sends the rows that the socket accepts without a wait, the second waits.
          next if attempt(@messages, 0).nil?
          name, seconds = limits(own, start).min_by(&:last)
          error = attempt(name ? @messages.first(1) : @messages, seconds)
          next if error.nil?
          raise error unless COMMAND.include?(name)
          return @job.expire(name)
        end
      ensure
        @job.undelivered = @messages.size
      end

      private

      def limits(own, start)
        per_row = Timeout::UNSET.equal?(own)
        own = per_row ? @socket.send_timeout : Timeout.remaining(own, start)
        {own: own, **@job.limits}.compact
      end

      def attempt(messages, seconds)
        @socket.send_many(messages, timeout: seconds)
        @messages = @messages.drop(messages.size)
        nil
      rescue TimeoutError => error
        @messages = @messages.drop(error.sent)
        error
      end
    end
  end
end
