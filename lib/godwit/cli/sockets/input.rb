# frozen_string_literal: true

module Godwit
  module CLI
    module Sockets
      # The messages that a command sends, as Arrays of frames: those of `--data`, or those that a
      # stream contains.
      class Input
        # Reads the stream when there are no texts. With `again` the texts are repeated.
        def initialize(form, texts: nil, stream: nil, again: false)
          @form = form
          @stream = stream
          @number = 0
          return unless texts
          messages = texts.map { |text| decode(text.b, "--data") }
          @messages = again ? messages.cycle : messages.each
        end

        # @return [Array<String>, nil] nil at the end
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
