# frozen_string_literal: true

module Edge
  class << self
    # An app's answer whose body the block writes while the client reads it. The block runs in the
    # request's fiber when the headers have been sent. `godwit_timeout` counts until then.
    # @param type [String] the Content-Type, such as "text/event-stream"
    # @param status [Integer] from 200 to 599; with 204, 304 and for HEAD the block does not run
    # @param headers [Hash] others, as in any answer; "cache-control" is "no-cache" by default
    # @yieldparam out [Stream::Out]
    # @return [Array] status, headers and body, for the app to return
    # @raise [ArgumentError] there is no block
    def stream(type, status: 200, headers: {}, &block)
      raise ArgumentError, "Edge.stream takes a block, which writes the body" unless block
      first = {"content-type" => type, "cache-control" => "no-cache"}
      [status, first.merge(headers), Stream.new(block)]
    end
  end

  # The body of such an answer.
  # @private
  class Stream
    def initialize(block)
      @block = block
    end

    # An error of the block is logged, and the client sees that the answer is not whole.
    def run(status, headers)
      number = Edge._stream_begin(status, headers)
      return unless number
      begin
        @block.call(Out.new(number))
        whole = true
      rescue Cancelled
        whole = true # as far as there is a client: the worker ends
      rescue Exception => error # standard:disable Lint/RescueException -- logged
        Edge._log(Failure.describe(error))
      end
      Edge._stream_end(whole)
    end

    # Yields what the block writes, for tests of apps.
    def each(&block) = @block.call(TestOut.new(block))

    # What a stream's block writes to. Any number of its fibers may, such as those of {Edge.join}.
    class Out
      # @private
      def initialize(number)
        @number = number
      end

      # Sends a text, and waits until nginx has given all of it to the connection. If the client
      # takes nothing for `send_timeout`, the stream ends as if the client had left.
      # @param text [String]
      # @return [self]
      # @raise [TypeError]
      # @raise [WaitError] a wait is impossible there
      # @raise [Cancelled] the client has left, or the worker ends
      def write(text)
        Edge.wait until Edge._stream_write(@number, text)
        Edge.wait until Edge._stream_write(@number, nil)
        self
      end
      alias_method :<<, :write

      # Sends an event of `text/event-stream`.
      # @param data [String] each of its lines is one of the event
      # @param event [String, Symbol, nil] the event's name; nil: "message" for the client
      # @param id [String, Integer, nil] the client sends the last one when it connects again
      # @return [self]
      # @raise [ArgumentError] the name or the id has CR, LF or NUL
      # @raise [TypeError] data is not a String
      # @raise (see #write)
      def event(data, event: nil, id: nil)
        raise TypeError, "an event's data is a String" unless data.is_a?(String)
        data = data.split("\r\n", -1).join("\n").split("\r", -1).join("\n") if data.include?("\r")
        data = data.split("\n", -1).join("\ndata: ") if data.include?("\n")
        write("#{field("event", event)}#{field("id", id)}data: #{data}\n\n")
      end

      private

      def field(name, value)
        return "" if value.nil?
        value = value.to_s
        if value.include?("\n") || value.include?("\r") || value.include?("\0")
          raise ArgumentError, "an event's #{name} has CR, LF or NUL: #{value.inspect}"
        end
        "#{name}: #{value}\n"
      end
    end

    # Has no connection.
    # @private
    class TestOut < Out
      def write(text)
        raise TypeError, "a stream takes a String" unless text.is_a?(String)
        @number.call(text)
        self
      end
      alias_method :<<, :write
    end
  end
end
