# frozen_string_literal: true

module Godwit
  module Work
    module CLI
      # `godwit-work evict MEMBER`.
      class Evict < Command
        summary "Takes all partitions of a member away; `groups --members` lists the members."
        usage "evict MEMBER"

        private

        def call(arguments)
          member, = accept(arguments, "member")
          found = client.members.find { |one| one.member.to_s == member }
          return Godwit::CLI::EXIT[:ok] if client.evict(found&.member)
          raise Godwit::CLI::UsageError, "no member #{text(member)}: `godwit-work groups " \
            "--members` lists them"
        end
      end
    end
  end
end
