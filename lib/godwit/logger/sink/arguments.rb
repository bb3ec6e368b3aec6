# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Sink
      # Checks of what a Sink is made with.

      private

      def checked_path(path)
        path = path.respond_to?(:to_path) ? path.to_path : path
        raise Errors.bad_type(:sink, "path", "a String", path) unless path.is_a?(String)
        if path.empty? || path.include?("\0")
          raise Errors.bad_value(:sink, "path", "the path of a file", path)
        end
        path
      end

      def checked_rotation(rotate)
        return [nil, nil] if rotate.nil?
        return [rotate, nil] if Rotation::PERIODS.include?(rotate)
        return [nil, rotate] if rotate.is_a?(Integer) && rotate.positive?
        raise Errors.bad_value(
          :sink, "rotate:", ":daily, :weekly, :monthly or a number of bytes", rotate
        )
      end

      def checked_keep(keep)
        return keep if keep.nil? || (keep.is_a?(Integer) && keep.positive?)
        raise Errors.bad_value(:sink, "keep:", "a number of files, 1 or more, or nil for all", keep)
      end

      def checked_format(format)
        return Lines.new if format.nil?
        return ->(record) { record.to_json } if format == :json
        return format if format.respond_to?(:call)
        raise Errors.bad_type(
          :sink, "format:", "what can be called with a record, :json or nil", format
        )
      end
    end
  end
end
