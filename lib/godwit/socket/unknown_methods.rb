# frozen_string_literal: true

module Godwit
  class Socket
    # Explains calls of methods that a socket does not have, and of `send` and `recv` with too many
    # arguments. The module costs nothing until such a call.
    # @private
    module UnknownMethods
      # Public methods that only Godwit's own classes call: the error never suggests them.
      INTERNAL = %i[
        binds? bound_to? finding finding_now forked? send_from share_options store subscribed?
        topics_count
      ].freeze

      FORMAT = "give the socket format: :json; send then takes a value, and recv gives it"
      FRAMES = "an Array of Strings is a message of several frames: send([\"a\", \"b\"])"
      RECEIVE = "recv(timeout: 5) gives the next message"
      # What to call instead of a method that another library or another socket type has.
      HINTS = Runtime.shareable({
        send_string: "a String is a message of one frame: send(string)",
        send_multipart: FRAMES, send_strings: FRAMES, sendmsgs: FRAMES, publish: FRAMES,
        recv_strings: "recv_multipart gives an Array of the frames",
        send_json: FORMAT, recv_json: FORMAT, send_pyobj: FORMAT, recv_pyobj: FORMAT,
        send_object: FORMAT, recv_object: FORMAT, send_hash: FORMAT,
        write: "send(string) sends a message of one frame", read: RECEIVE, gets: RECEIVE,
        receive: RECEIVE, recvmsg: RECEIVE, on_message: "each { |message| … } gets each message",
        poll: "wait_readable(5) waits for a message; many sockets: Godwit::Poller",
        setsockopt: "set(:send_hwm, 10), or the keyword send_hwm: 10 of new, bind and connect",
        getsockopt: "get(:send_hwm)",
        request: "only a REQ has it. A DEALER sends [\"\", question], and receives [\"\", answer]",
        serve: "only a REP and a ROUTER have it. Others receive with each { |message| … }"
      })

      private

      def method_missing(name, *arguments)
        hint = HINTS[name] || guess(name)
        text = ["undefined method `#{name}' for a #{self.class}", *hint].join(": ")
        # The error has no receiver: else Ruby would suggest methods of {INTERNAL}. Its backtrace
        # begins with the caller's line, which Ruby shows.
        error = NoMethodError.new(text, name, arguments)
        error.set_backtrace(caller)
        raise error
      end

      # Without this method Ruby would call {#method_missing} for `to_ary` and the like.
      def respond_to_missing?(_name, _all) = false

      def guess(name)
        known = public_methods - (Object.instance_methods - [:send]) - INTERNAL
        near = Runtime.similar(name, known) or return
        "did you mean #{near}?"
      end
    end
  end
end
