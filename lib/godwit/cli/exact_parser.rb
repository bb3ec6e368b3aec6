# frozen_string_literal: true

require "optparse"

module Godwit
  module CLI
    # Accepts an option only by its whole name, and wraps the option's text. OptionParser would
    # complete `-z` to `--zmq`; with Ruby 3.1's `require_exact` it refuses `--size=1`.
    # @private
    class ExactParser < OptionParser
      WIDTH = 63 # most characters of a line of an option's text; the option's name is before it
      private_constant :WIDTH

      # The words that an option accepts. `match` accepts any text: the option's block checks it.
      Choice = Struct.new(:words) do
        def match(text) = text
      end

      def define(*arguments, &block)
        texts, others = arguments.partition { |one| one.is_a?(String) && !one.start_with?("-") }
        switch = super(*others, &block)
        switch.desc.replace(texts.join(" ").scan(/\S.{0,#{WIDTH - 1}}(?=\s|\z)|\S+/o))
        switch
      end
      alias_method :on, :define

      def switches = top.list.grep(OptionParser::Switch)

      private

      def complete(kind, name, *)
        search(kind, name) { |switch| return [switch, name] }
        raise InvalidOption.new(name, additional: method(:additional_message).curry[kind])
      end
    end
  end
end
