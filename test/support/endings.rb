# frozen_string_literal: true

module Godwit
  module TestSupport
    # For test classes about the endings of waits: each kind of wait is tested with each ending, and
    # each other call with one.
    module Endings
      CHOICE = Random.new(Integer(ARGV[ARGV.index("--seed").to_i + 1], exception: false) || 0)

      # @return [Hash{String => Proc}] by sentence
      def endings = @endings ||= {}

      # Defines an ending. The block gets the call's name.
      def ending(sentence, &body) = endings[sentence] = body

      # Tests the calls: a kind of wait with each ending, another call with one that the seed
      # chooses.
      # @yieldparam name [String]
      # @yieldreturn [Array<String>] the endings that the call can have; without a block: all
      def test_endings(names, kinds = self::KINDS)
        names.each do |name|
          possible = block_given? ? yield(name) : endings.keys
          chosen = kinds.include?(name) ? possible : [possible.sample(random: CHOICE)].compact
          chosen.each { |sentence| test_of(name, sentence) }
        end
      end

      private

      def test_of(name, sentence)
        test("#{name} #{sentence}") { instance_exec(name, &self.class.endings.fetch(sentence)) }
      end
    end
  end
end
