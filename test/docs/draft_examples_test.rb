# frozen_string_literal: true

require_relative "example_case"

# The examples that need a libzmq with drafts: the stage `draft` has the children load it.
class DraftExamplesTest < ExampleCase
  examples { |example| example.needs == "draft" }

  def setup
    super
    skip "libzmq has no drafts: bin/test draft runs these" unless Godwit.has?("draft")
  end
end
