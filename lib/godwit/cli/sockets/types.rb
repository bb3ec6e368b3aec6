# frozen_string_literal: true

module Godwit
  module CLI
    module Sockets
      # A command: its name, which is the socket's type; the method of {Session} that does its work;
      # what --count counts; its summary.
      Type = Struct.new(:name, :work, :counts, :summary) do
        # @param option [Symbol] such as :echo
        def accepts?(option) = !ONLY.key?(option) || ONLY[option].include?(name)
        # @return [Boolean] whether the command has an input
        def sends? = accepts?(:data)
        # @return [Boolean] whether the command waits for a peer before it sends, also when it binds
        def sends_first? = %i[send_all request_all].include?(work)
      end

      # The commands by name, in the order of the help.
      TYPES = [
        Type.new(:req, :request_all, "exchanges", "Sends requests, and prints their replies."),
        Type.new(:rep, :reply_all, "exchanges", "Answers requests, and prints them."),
        Type.new(:pub, :send_all, "messages sent", "Publishes messages to subscribers."),
        Type.new(:sub, :print_all, "messages printed", "Prints the messages of publishers."),
        Type.new(:push, :send_all, "messages sent", "Sends messages, each to one of the pullers."),
        Type.new(:pull, :print_all, "messages printed", "Prints the messages of pushers."),
        Type.new(:pair, :converse, "messages received",
          "Sends to one peer, and prints its messages."),
        Type.new(:dealer, :converse, "messages received",
          "Sends messages, each to one peer, and prints what comes."),
        Type.new(:router, :converse, "messages received",
          "Prints messages behind their senders' ids, and sends to ids.")
      ].to_h { |type| [type.name.to_s, type.freeze] }.freeze

      senders = %i[req rep pub push pair dealer router]
      # The options that only some types accept, with these types. All types accept the rest.
      ONLY = {
        subscribe: %i[sub], data: senders, file: senders, interval: senders - %i[rep],
        rate: senders - %i[rep], echo: %i[rep pair dealer router],
        wait_peers: senders - %i[rep], identity: %i[req rep dealer router]
      }.freeze

      # The short names of options in {ONLY}.
      SHORT = {"-s" => :subscribe, "-D" => :data, "-F" => :file}.freeze
    end
  end
end
