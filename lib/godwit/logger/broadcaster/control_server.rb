# frozen_string_literal: true

require "json"

module Godwit
  class Logger < ::Logger
    class Broadcaster
      # ControlServer what {Control} asks, in a thread of its own; the wire stands there.
      # @private
      class ControlServer
        # Bytes that a question may have.
        LONGEST = 65_536
        # What a question for the last may say.
        CHOICES = %w[level prog host tag].freeze
        # Bytes of an answer beside the records in it: a thousand accounts.
        WRITERS = 1 << 20
        # Questions of one that asks.
        QUESTIONS = 100

        # @param bytes [Integer] that may wait for one that does not read its answers
        # @param longest [Integer] bytes of records that an answer may have
        # @return [Hash{Symbol => Object}] of the ROUTER
        def self.options(bytes, longest)
          {
            max_message_size: LONGEST, recv_hwm: QUESTIONS,
            send_hwm: [bytes / (longest + WRITERS), 1].max, mandatory: true
          }
        end

        def initialize(socket, broadcaster)
          @socket = socket
          @broadcaster = broadcaster
          @dropped = 0
        end

        # @return [Integer] answers that were not sent, since too many wait for that one
        attr_reader :dropped

        def endpoints = @socket.endpoints

        # A second call does nothing.
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
            peer, *envelope, question = message
            tell(
              [
                peer, *envelope,
                *(envelope.all?(&:empty?) ? answer(question) : error("a question is one frame"))
              ]
            )
          rescue ClosedError, ContextTerminatedError
            break
          rescue => trouble
            tell([*message[0..-2], *error("#{trouble.message} (#{trouble.class})")])
          end
        end

        def tell(answer)
          @dropped += 1 if @socket.send_nonblock(answer, exception: false) == :wait_writable
        rescue UnreachableError
          nil # it has left
        end

        def answer(question)
          question = JSON.parse(question.dup.force_encoding(Encoding::UTF_8), max_nesting: 10)
          unless question.is_a?(Hash)
            return error("a question is an object, such as {\"ask\":\"stats\"}")
          end
          case question["ask"]
          when "stats" then [JSON.generate(@broadcaster.statistics)]
          when "last" then last(question)
          else error("ask is \"stats\" or \"last\"")
          end
        rescue JSON::ParserError, ArgumentError, TypeError => trouble
          error(trouble.message)
        end

        def last(question)
          choices = question.slice(*CHOICES).compact.transform_keys(&:to_sym)
          unless choices.values.all? { |given|
                   word?(given) || (given.is_a?(Array) && given.all? { |one| word?(one) })
                 }
            return error("level, prog, host and tag are strings, or arrays of such")
          end
          messages = @broadcaster.last(question.fetch("n", 100), **choices).map(&:frames)
          [JSON.generate("frames" => messages.map(&:size)), *messages.flatten]
        end

        def word?(given) = given.is_a?(String) || given.is_a?(Integer)

        def error(text) = [JSON.generate("error" => text.dup.force_encoding(Encoding::UTF_8).scrub)]
      end
      private_constant :ControlServer
    end
  end
end
