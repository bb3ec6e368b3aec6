# frozen_string_literal: true

module Godwit
  module Perf
    # The client's side of a link: connects sockets and gives commands to the {Server}.
    class Link
      WARM_UP = 1 # seconds of the warm-up, if a time limits the measurement
      WARM_UP_MESSAGES = 1_000 # messages of the warm-up, if a count limits the measurement
      POLL_INTERVAL = 0.05 # seconds between two requests for the server's result
      SILENCE = 30 # seconds without progress, plus the time-out, that end a measurement
      ERROR = 300 # most characters of a server's error text in our message

      def initialize(endpoint, timeout, options)
        @endpoint = endpoint
        @timeout = timeout
        @options = Endpoint.with_ipv6([endpoint], options)
      end

      # @return [Numeric] the seconds as a message shows them: 5 instead of 5.0
      def self.shown(seconds) = (seconds % 1).zero? ? seconds.to_i : seconds

      attr_reader :endpoint, :timeout

      def connect(type, endpoint = @endpoint, timeout: @timeout, **options)
        start = Timeout.now
        socket = type.connect(endpoint, linger: 0, count_peers: true, **@options, **options)
        socket.wait_connected(timeout: timeout)
        connected = [socket, Timeout.now - start]
      rescue TimeoutError => error
        raise no_answer(error), cause: nil
      ensure
        socket&.close unless connected
      end

      def no_answer(late = nil)
        why = ": #{late.why}" if late&.why
        TimeoutError.new("no answer from #{@endpoint} in #{Link.shown(@timeout)} s#{why}",
          endpoint: @endpoint, reason: late&.reason, why: late&.why)
      end

      def lost(result, more = "")
        ServerLostError.new("#{no_answer.message}: the server or its connection ended during " \
          "the measurement#{more}", result: result, endpoint: @endpoint)
      end

      # @return [Boolean] whether the server still accepts connections
      def alive?(timeout)
        connect(DEALER, timeout: timeout).first.close
        true
      rescue TimeoutError
        false
      end

      # @return [Numeric] seconds without progress after which a measurement ends, although the
      #   server accepts connections or answers
      def patience = SILENCE + @timeout

      # Seconds that a send may wait. The rest of the time-out is for the server's answer.
      def send_timeout = @timeout / 2.0

      def command(values, timeout: @timeout)
        @control ||= connect(REQ).first
        answer = Server.values(@control.send(Server.command(values)).recv(timeout: timeout))
        if answer.nil? || answer.key?("do")
          raise AnswerError, "#{@endpoint} is no `godwit perf serve`: it does not answer commands"
        end
        error = answer["error"] or return answer
        raise StateError.new("#{@endpoint}: #{Printable.text(error.to_s[0, ERROR])}",
          endpoint: @endpoint)
      rescue TimeoutError => error
        close # a REQ without its reply cannot send again
        raise no_answer(error), cause: nil
      end

      # Repeats the request in the block until the measurement has ended. The server answers each
      # request at once: its only thread serves all clients.
      def result(standstill)
        loop do
          answer = yield
          return answer unless answer["ended"] == false
          standstill.check(answer["taken"])
          sleep POLL_INTERVAL
        end
      end

      def figures(answer, names)
        figures = names.to_h { |name| [name, answer[name.to_s]] }
        whole = figures.all? do |name, value|
          next value.is_a?(Integer) && value >= 0 unless name.end_with?("seconds")
          value.is_a?(Numeric) && value.positive? && value.finite?
        end
        whole ? figures : raise(malformed)
      end

      def malformed
        AnswerError.new("#{@endpoint} gave a malformed answer: is it `godwit perf serve` of " \
          "Godwit #{VERSION}?", endpoint: @endpoint)
      end

      def close
        @control&.close
        @control = nil
      end
    end

    # Limits the wait for a server that answers, but whose measurement does not end. The limit is
    # the given number of seconds without progress.
    class Standstill
      # @param most [Integer] messages that the server can have received; 0: no message is expected
      def initialize(link, seconds, most = 0)
        @link = link
        @seconds = seconds
        @most = most
        @received = 0
        @since = Timeout.now
      end

      def check(received)
        received = received.is_a?(Integer) ? [received, @most].min : 0
        if received > @received
          @received = received
          @since = Timeout.now
        end
        return if Timeout.now - @since < @seconds
        raise TimeoutError.new("#{@link.endpoint} answers, but the measurement had not ended " \
          "after #{Link.shown(@seconds)} s#{" without a message" if @most > 0}",
          endpoint: @link.endpoint)
      end
    end
    private_constant :Link, :Standstill
  end
end
