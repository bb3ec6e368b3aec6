# frozen_string_literal: true

require_relative "pause"

module Godwit
  module Work
    module CLI
      # `godwit-work resume GROUP TOPIC`.
      class Resume < Pause
        summary "Lets the records of a topic run again in a group."
        usage "resume GROUP TOPIC"

        private

        def action = :resume
      end
    end
  end
end
