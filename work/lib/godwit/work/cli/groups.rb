# frozen_string_literal: true

require_relative "listing"

module Godwit
  module Work
    module CLI
      # `godwit-work groups`: lists the groups, or their members.
      class Groups < Listing
        summary "Lists the groups, their topics, members and lag."
        usage "groups [--members] [--json]"

        private

        def define(parser)
          parser.on("--members", "lists the members, with their ids and processes")
          super
        end

        def rows(arguments)
          accept(arguments)
          return client.members.map(&:to_h) if options[:members]
          client.groups.map { |one| options[:json] ? one.to_h : one.to_h.except(:silent) }
        end
      end
    end
  end
end
