# frozen_string_literal: true

require "test_helper"
require_relative "assertions"

module Conformance
  # A test of the public API, with the assertions of Assertions.
  class Case < Godwit::TestCase
    include Assertions
  end
end
