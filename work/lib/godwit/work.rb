# frozen_string_literal: true

require "godwit"

module Godwit
  # The second gem, `godwit-work`: consumers of topics in an SQLite file, without a server.
  module Work
    # The gem's version: both gems have one.
    VERSION = Godwit::VERSION
  end
end
