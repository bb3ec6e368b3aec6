# frozen_string_literal: true

require_relative "../../rakelib/support/debian_root"

module Godwit
  module TestSupport
    # The Debian 12 and 13 systems in which tests install the platform gem.
    module Debians
      BARE, WITH_BUNDLER = [%w[ruby], %w[ruby ruby-bundler]].map do |packages|
        %w[bookworm trixie].to_h { |suite| [suite, DebianRoot.new(suite, packages)] }
      end

      # A Debian with a compiler, for the source gem.
      WITH_COMPILER = DebianRoot.new("bookworm",
        %w[ruby ruby-bundler ruby-dev build-essential pkg-config libzmq3-dev])

      # Builds these systems, which takes minutes the first time.
      def self.prepare = [BARE, WITH_BUNDLER].flat_map(&:values).push(WITH_COMPILER).each(&:folder)
    end
  end
end
