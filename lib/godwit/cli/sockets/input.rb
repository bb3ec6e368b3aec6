# frozen_string_literal: true

module Godwit
  module CLI
    module Sockets
      # The messages that a command sends, as Arrays of frames: from `--data`, or from a stream.
      class Input
        # Without texts the stream is read. With `again` the texts are repeated without end.
        def initialize(form, texts: nil, stream: nil, again: false)
          @form = form
          @stream = stream
          @number = 0
          return unless texts
          messages = texts.map { |text| decode(text.b, "--data") }
          @messages = again ? messages.cycle : messages.each
        end

        # @return [Array<String>, nil] the next message; nil at the end of the input
        def next
          return @messages.next if @messages
          ending = @form.terminator
          text = @stream.gets(ending) or return
          decode(text.delete_suffix(ending), "message #{@number += 1} of the input")
        rescue StopIteration
          nil
        end

        private

        def decode(text, origin)
          @form.decode(text)
        rescue InputError => error
          raise error.class, "#{origin}: #{error.message}"
        end
      end
    end
  end
end
