# frozen_string_literal: true

require_relative "../../rakelib/support/debian_root"

module Godwit
  module TestSupport
    # Debian 12 and 13, which install the platform gem.
    module Debians
      BARE, WITH_BUNDLER = [%w[ruby], %w[ruby ruby-bundler]].map do |packages|
        %w[bookworm trixie].to_h { |suite| [suite, DebianRoot.new(suite, packages)] }
      end

      # Makes them: minutes, the first time.
      def self.prepare = [BARE, WITH_BUNDLER].flat_map(&:values).each(&:folder)
    end
  end
end
