# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Requests statistics and the last records from a {Broadcaster}, at its `control:` endpoint.
    #
    #   control = Godwit::Logger::Control.new("tcp://loghost:7002")
    #   control.statistics["lost"]
    #   control.last(100, level: "error+").each { |record| puts record }
    #
    # **Wire format**, for other clients: a REQ (or a DEALER) sends one frame of JSON, of 65,536
    # bytes at most, and receives
    #
    #   {"ask":"stats"}
    #     # one frame: Broadcaster#statistics as JSON
    #   {"ask":"last","n":100,"level":"error+","prog":["a","b"],"host":"web1","tag":"req-9"}
    #     # {"frames":[3,1]}: next come the three frames of a record, then a line's one frame
    #   anything else
    #     # {"error":"why"}
    #
    # **Threads, fibers**: any may ask; while one waits for its answer, the others wait. Waits end
    # as those of {Socket}. **Fork**: in a child every method raises {ForkedError}.
    class Control
      extend Keywords

      # Connects in the background.
      # @param endpoint [String]
      # @param timeout [Integer, Float, nil] seconds that an answer may take; nil: for ever
      # @param options [Hash] socket options, as {Socket#initialize}: `curve:`, `server_key:`…
      # @raise [Error] as {Socket.connect}
      def initialize(endpoint, timeout: 5, **options)
        Timeout.check(timeout)
        @timeout = timeout
        @socket = REQ.connect(endpoint, linger: 0, **options)
      end

      # @return [Hash{String => Object}] as {Broadcaster#statistics}
      # @raise [TimeoutError] when no answer comes in time
      # @raise [StateError] when the answer is an error, or is not a broadcaster's
      # @raise [ClosedError, ForkedError]
      def statistics = ask({ask: "stats"}).first

      # The last records that the broadcaster remembers, as {Broadcaster#last}.
      # @param (see Broadcaster#last)
      # @return [Array<Record>] the oldest first
      # @raise [ArgumentError] for an unknown level
      # @raise [Error] as {#statistics}
      def last(count = 100, level: nil, prog: nil, host: nil, tag: nil)
        filter = Filter.new(level: level, prog: prog, host: host, tag: tag)
        choice = {level: filter.levels, prog: filter.progs, host: filter.hosts, tag: filter.tags}
        answer, *frames = ask({ask: "last", n: count, **choice.compact})
        sizes = answer["frames"]
        valid = sizes.is_a?(Array) && sizes.all?(Integer) && sizes.all?(&:positive?)
        raise refused("an answer without its frames") unless valid && sizes.sum == frames.size
        sizes.filter_map { |size| Record.parse(frames.shift(size)) }
      end

      # @return [nil]
      # @raise [ForkedError]
      def close = @socket.close
      # @return [Boolean]
      def closed? = @socket.closed?
      # @return [String]
      def inspect = "#<#{self.class} #{@socket.last_endpoint}#{" (closed)" if closed?}>"
      alias_method :to_s, :inspect

      private

      def ask(question)
        answer, *frames = @socket.request(JSON.generate(question), timeout: @timeout)
        answer = JSON.parse(answer.dup.force_encoding(Encoding::UTF_8))
        raise refused("an answer that is no object") unless answer.is_a?(Hash)
        raise refused(answer["error"]) if answer.key?("error")
        [answer, *frames]
      rescue JSON::ParserError
        raise refused("an answer that is no JSON"), cause: nil
      end

      def refused(why)
        Errors.build(StateError, :control, @socket.last_endpoint, "the broadcaster said: #{why}")
      end
    end
  end
end
