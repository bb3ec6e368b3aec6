# frozen_string_literal: true

module ZMQ
  # The handler where none is given: shows what comes, sends empty messages.
  class DefaultHandler < Handler
    # Prints what came.
    def on_readable
      p recv
    end

    # Sends "".
    def on_writable
      send("")
    end
  end
end
