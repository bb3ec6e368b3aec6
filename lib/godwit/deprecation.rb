# frozen_string_literal: true

module Godwit
  # Names that still work for now. Each warns in the category :deprecated, which `ruby -w` and
  # `Warning[:deprecated] = true` show.
  # @private
  module Deprecation
    # @param old [String] the name that a program used
    # @param new [String] the name that replaces it
    # @return [nil]
    def self.warn(old, new)
      place = caller_locations(1).find { |location| !location.path.start_with?(__dir__) }
      text = "#{place&.path}:#{place&.lineno}: godwit: #{old} is deprecated: use #{new}"
      Kernel.warn(text, category: :deprecated)
    end
  end
end
