# frozen_string_literal: true

module Godwit
  # The frame by which {Socket::Serve#serve} replies with an error, and which
  # {Socket::Request#request} raises as {RemoteError}. {file:docs/error-replies.md} has its bytes.
  #
  # **Threads and Ractors**: any may call these methods.
  module ErrorReply
    # The first bytes of the frame. No UTF-8 text (so no JSON) and no MessagePack value begins with
    # 0xC1.
    MARK = "\xC1godwit/error\n".b.freeze
    # Most bytes of an error's message; {.dump} cuts off the rest.
    LIMIT = 4096

    class << self
      # @param error [Exception]
      # @return [String] the frame, with the error's class and message; for a {RemoteError} with
      #   those that its server sent
      def dump(error)
        name = (error.remote_class if error.is_a?(RemoteError)) || name_of(error.class)
        message = (error.remote_message if error.is_a?(RemoteError)) || message_of(error)
        MARK + [name, message].map { |text| Runtime.utf8(Runtime.text(text)).b }.join("\n")
      end

      # @param frame [String] the only frame of a reply
      # @return [RemoteError, nil] nil when the frame is no error
      def load(frame) = (error(frame) if mark?(frame))

      # @private
      def mark?(frame)
        frame.getbyte(0) == 0xC1 && frame.byteslice(0, MARK.bytesize).b == MARK
      end

      # @private
      # @param frame [String] that begins with {MARK}
      def error(frame, operation = nil, endpoint = nil)
        rest = Runtime.text(frame.byteslice(MARK.bytesize, frame.bytesize))
        name, message = Runtime.utf8(rest).split("\n", 2)
        shown = Runtime.printable("#{name}: #{message}")
        what = [operation, endpoint].compact.join(" ")
        shown = "#{what}: the server replied with an error: #{shown}" unless what.empty?
        RemoteError.new(shown, operation: operation, endpoint: endpoint,
          remote_class: name.to_s, remote_message: message.to_s)
      end

      private

      def name_of(klass)
        klass = klass.superclass until klass.name
        klass.name
      end

      # Ruby 3.1 adds lines of source code to `message`, but not to `original_message`.
      def message_of(error)
        message = error.respond_to?(:original_message) ? error.original_message : error.message
        message = message.to_s
        return message if message.bytesize <= LIMIT
        "#{Runtime.scrub(message.byteslice(0, LIMIT))}..."
      end
    end
  end
end
