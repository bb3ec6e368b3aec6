# frozen_string_literal: true

module Godwit
  module TestSupport
    # For test classes about the endings of waits: each ending is a test of each kind of wait, and
    # each call has one ending.
    module Endings
      CHOICE = Random.new(Integer(ARGV[ARGV.index("--seed").to_i + 1], exception: false) || 0)

      # @return [Hash{String => Proc}] by sentence
      def endings = @endings ||= {}

      # Defines an ending, as a test of each kind of wait. The block gets the call's name.
      def ending(sentence, &body)
        endings[sentence] = body
        self::KINDS.each { |name| test_of(name, sentence) }
      end

      # Tests the call with an ending that the seed chooses among the sentences. A call that is a
      # kind of wait is tested with all of them.
      def one_ending(name, possible = endings.keys)
        unless self::KINDS.include?(name) || possible.empty?
          test_of(name, possible.sample(random: CHOICE))
        end
      end

      private

      def test_of(name, sentence)
        test("#{name} #{sentence}") { instance_exec(name, &self.class.endings.fetch(sentence)) }
      end
    end
  end
end
