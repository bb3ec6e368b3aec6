# frozen_string_literal: true

module Godwit
  class Socket
    # The modules that add to a socket's options, endpoints and messages: one list for CRuby, JRuby
    # and mruby. mruby/lib/socket_modules.rb replaces those that mruby does not have.
    # @private
    module Hooks
      include Counts
      include Encodings
      include Frames
      include Monitoring
      include Peers
      include TimeOuts
      include UnknownMethods

      __send__(:include, Backend::TAKEOVER) # hides this include from YARD, which cannot resolve it

      # The keywords of {Socket#initialize} that belong to modules. A module's `check` runs before
      # libzmq makes the socket, its `start` once the socket has its options.
      KEYWORDS = {
        encoding: Encodings, copy_threshold: Frames, count_peers: Peers, format: Formatted
      }.freeze

      # @return [Array<Array(Module, Object)>] each module and its checked value, for {.start}
      def self.check(socket, values)
        values.map { |name, value| [KEYWORDS[name], KEYWORDS[name].check(socket, value)] }
      end

      def self.start(socket, checked)
        checked.each { |mod, value| mod.start(socket, value) }
        Registry.add(socket)
      end

      def self.close(socket)
        Registry.closed(socket)
      end
    end
  end
end
