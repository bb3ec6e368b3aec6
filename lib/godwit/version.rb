# frozen_string_literal: true

# Native ZeroMQ for Ruby.
module Godwit
  # The gem's version, as in the gemspec and the changelog.
  VERSION = "0.1.0"
end
