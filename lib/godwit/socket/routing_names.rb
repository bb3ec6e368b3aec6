# frozen_string_literal: true

module Godwit
  class Socket
    # The names that `connect_routing_id` gives to peers. libzmq ends the process when there is a
    # peer of that name already: also one that was disconnected and has not quite gone, or one that
    # named itself, of which libzmq tells nobody. So each name goes once, and a ROUTER gives none
    # once its peers may name themselves.
    # @private
    module RoutingNames
      private

      def start_names
        @names_given = {}
        @next_name = nil
        @peers_name_themselves = false
      end

      def check_name(name)
        if @names_given[name]
          raise name_error(
                  "takes each name once in a socket's life, and #{name.inspect} was given " \
                  "before: take another, or a new socket"
                )
        elsif @peers_name_themselves && type == :ROUTER
          raise name_error(
                  "is for a ROUTER before any bind, any connect without a name and immediate: " \
                  "true: its peers may have " \
                    "given themselves #{name.inspect}, and libzmq allows no two of one name: " \
                    "take another ROUTER for it"
                )
        end
      end

      def name_error(problem) = Options.fetch(:connect_routing_id).error(problem)

      def note_name(option, raw)
        @next_name = raw if option.name == :connect_routing_id
        peers_name_themselves if option.name == :immediate && raw == 1
      end

      def peers_name_themselves
        @peers_name_themselves = true
      end

      # The block connects; libzmq gives the name to the peer there.
      def give_name
        name = @next_name
        check_name(name) if name
        yield
        return peers_name_themselves unless name
        @names_given[name] = true
        @next_name = nil
      end
    end
  end
end
