# frozen_string_literal: true

require "godwit/cli/help"

module Godwit
  module Work
    module CLI
      # `godwit-work help [COMMAND]`: lists the commands, or explains one.
      class Help < Godwit::CLI::Help
        program CLI
        summary superclass.summary
        usage "help [COMMAND]"

        private

        def notes = []
      end
    end
  end
end
