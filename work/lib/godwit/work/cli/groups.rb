# frozen_string_literal: true

require_relative "listing"

module Godwit
  module Work
    module CLI
      # `godwit-work groups`: the groups and their members.
      class Groups < Listing
        summary "Lists the groups, their topics, members and lag."
        usage "groups [--json]"

        private

        def rows(arguments)
          take(arguments)
          client.groups.map(&:to_h)
        end
      end
    end
  end
end
