# frozen_string_literal: true

module Godwit
  module CLI
    module Sockets
      # The Ruby code of `--eval`: m has a message's frames, and the code's value is the new frames.
      class Evaluator
        def initialize(code)
          require "json"
          text = "lambda { |m|\n#{code}\n}"
          # standard:disable Security/Eval, Style/EvalWithLocation
          @function = eval(text, CLEAN.call, "--eval", 0)
          # standard:enable Security/Eval, Style/EvalWithLocation
        rescue SyntaxError => error
          raise UsageError, "--eval is no Ruby: #{error.message.lines.first.chomp}"
        end

        # @return [Array<String>, nil] nil: the message is skipped
        def call(frames)
          value = @function.call(frames.map { |frame| utf8(frame) })
          return if value.nil?
          found = value.is_a?(Array) ? value.map(&:to_s) : [value.to_s]
          found.empty? ? nil : found
        rescue ScriptError, StandardError => error
          raise InputError, "--eval: #{error.message.lines.first&.chomp} (#{error.class})"
        end

        private

        def utf8(frame)
          text = frame.dup.force_encoding(Encoding::UTF_8)
          text.valid_encoding? ? text : frame
        end
      end
    end
  end
end

# The block is outside of all modules, so that the user's Ruby sees no constants of Godwit::CLI.
Godwit::CLI::Sockets::Evaluator::CLEAN = -> { Object.new.instance_eval { binding } }
