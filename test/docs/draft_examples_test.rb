# frozen_string_literal: true

require_relative "example_case"

# Runs the examples that need a libzmq with drafts, which the stage `draft` loads.
class DraftExamplesTest < ExampleCase
  examples { |example| example.needs == "draft" }

  def setup
    super
    skip "libzmq has no drafts: bin/test draft runs these" unless Godwit.has?("draft")
  end
end
