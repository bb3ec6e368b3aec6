# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Answers the questions of a {Control}, on a thread of its own. {Control} has the wire format.
    class ControlServer
      LONGEST = 65_536 # most bytes of a question
      CHOICES = %w[level prog host tag].freeze # filters of a question for the last records
      WRITERS = 1 << 20 # estimated bytes of the statistics of a thousand writers
      QUESTIONS = 100 # most queued questions of one client

      # `bytes` of answers may wait for a client; one answer has records of at most `longest` bytes.
      def self.options(bytes, longest)
        {max_message_size: LONGEST, recv_hwm: QUESTIONS,
         send_hwm: [bytes / (longest + WRITERS), 1].max, mandatory: true}
      end

      def initialize(socket, broadcaster)
        @socket = socket
        @broadcaster = broadcaster
        @dropped = 0
      end

      attr_reader :dropped # answers that were not sent, since too many waited for the client
      def endpoints = @socket.endpoints

      # Starts the thread. A second call does nothing.
      def start
        @thread ||= Worker.new { work }.tap { |thread| thread.name = "godwit log control" }
      end

      def close
        @socket.close
        @thread&.join
      end

      private

      def work
        Thread.current.report_on_exception = false
        @socket.each do |message|
          *envelope, question = message
          reply([*envelope, *answer(envelope, question)])
        rescue ClosedError, ContextTerminatedError
          break
        rescue => error
          reply([*envelope, *failure("#{error.message} (#{error.class})")])
        end
      end

      def reply(frames)
        @dropped += 1 if @socket.send_nonblock(frames, exception: false) == :wait_writable
      rescue UnreachableError
        nil # the client has disconnected
      end

      def answer(envelope, question)
        return failure("a question is one frame") unless envelope.drop(1).all?(&:empty?)
        question = JSON.parse(question.dup.force_encoding(Encoding::UTF_8), max_nesting: 10)
        return failure('a question is an object: {"ask":"stats"}') unless question.is_a?(Hash)
        case question["ask"]
        when "stats" then [JSON.generate(@broadcaster.statistics)]
        when "last" then last(question)
        else failure("ask is \"stats\" or \"last\"")
        end
      rescue JSON::ParserError, ArgumentError, TypeError => error
        failure(error.message)
      end

      def last(question)
        choices = question.slice(*CHOICES).compact.transform_keys(&:to_sym)
        words = choices.values.flatten(1)
        unless words.all? { |word| word.is_a?(String) || word.is_a?(Integer) }
          return failure("level, prog, host and tag are strings, or arrays of strings")
        end
        messages = @broadcaster.last(question.fetch("n", 100), **choices).map(&:frames)
        [JSON.generate("frames" => messages.map(&:size)), *messages.flatten]
      end

      def failure(text) = [JSON.generate("error" => Text.utf8(text))]
    end
    private_constant :ControlServer
  end
end
