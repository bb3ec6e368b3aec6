# frozen_string_literal: true

module Godwit
  class Socket
    # The names that `connect_routing_id` gives to peers. libzmq ends the process when a peer has
    # that name already: even one that is disconnecting, or one that chose its own routing id, which
    # libzmq does not tell. So each name is given once, and a ROUTER gives none once its peers may
    # have chosen their own.
    # @private
    module RoutingNames
      private

      def start_names
        @names_given = {}
        @next_name = nil
        @peers_name_themselves = false
      end

      def check_name(name)
        problem =
          if @names_given[name]
            "takes each name once in a socket's life, and #{name.inspect} was given before: " \
              "take another, or a new socket"
          elsif @peers_name_themselves && type == :ROUTER
            "is for a ROUTER before any bind, any connect without a name and immediate: true: " \
              "its peers may have given themselves #{name.inspect}, and libzmq allows no two of " \
              "one name: take another ROUTER for it"
          end
        raise Options.fetch(:connect_routing_id).error(problem) if problem
      end

      def note_name(option, raw)
        @next_name = raw if option.name == :connect_routing_id
        peers_name_themselves if option.name == :immediate && raw == 1
      end

      def peers_name_themselves
        @peers_name_themselves = true
      end

      # Yields to connect; libzmq gives the name to the peer there.
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
