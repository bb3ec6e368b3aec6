# frozen_string_literal: true

module Godwit
  class CommandError
    LINES = 10
    private_constant :LINES

    # @return [Shell::Status] how the command ended
    attr_reader :status

    # @private
    def self.of(status)
      text = "run #{status.command}: #{status}"
      last = status.stderr_tail.to_s.scrub("?").lines.last(LINES).join.chomp
      unless last.empty?
        text << "\n" << last.encode(text.encoding, invalid: :replace, undef: :replace)
      end
      new(text, operation: :run).tap { |error| error.__send__(:judge, status) }
    end

    private

    def judge(status)
      @status = status
    end
  end
end
