# frozen_string_literal: true

module Godwit
  # Warns of a deprecated name, in the category :deprecated, which `ruby -w` and
  # `Warning[:deprecated] = true` show.
  # @private
  module Deprecation
    def self.warn(old, new)
      place = caller_locations(1).find { |location| !location.path.start_with?(__dir__) }
      text = "#{place&.path}:#{place&.lineno}: godwit: #{old} is deprecated: use #{new}"
      Kernel.warn(text, category: :deprecated)
    end
  end
end
