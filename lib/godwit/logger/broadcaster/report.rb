# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Broadcaster
      # Makes the Hash of {Broadcaster#statistics} from the numbers of {Statistics}.
      # @private
      module Report
        TOTALS = %w[messages bytes records plain foreign lost late writers forgotten kept].freeze
        WRITER = %w[
          writer prog host first last received lost late bytes lag longest_lag idle
        ].freeze
        NAMES = %w[prog host].freeze
        NANOSECONDS = %w[lag longest_lag].freeze

        module_function

        def totals(values)
          {**TOTALS.zip(values).to_h, "levels" => levels(values.drop(TOTALS.size))}
        end

        def writer(values)
          statistics = WRITER.zip(values).to_h
          NAMES.each { |name| statistics[name] = Topic.unescape(statistics[name]) }
          NANOSECONDS.each { |name| statistics[name] /= 1e9 }
          statistics["idle"] /= 1e3
          statistics["levels"] = levels(values.drop(WRITER.size))
          statistics
        end

        def levels(counts) = Levels::LABELS.zip(counts).to_h
      end
      private_constant :Report
    end
  end
end
