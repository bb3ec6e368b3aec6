# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class Handle
      # What becomes of a message, its tags and its error before they stand in the queue.

      private

      # An error beside a text: `log.error("saving failed", error)`, `log.error("saving failed",
      # exception: error)`.
      # @return [Array(Exception, Object)] nil where there is none, and what is left of the payload
      def error_in(payload)
        case payload
        when ::Exception then [payload, nil]
        when ::Hash
          given = payload[:exception]
          if ::Exception === given
            [given, payload.except(:exception).then { |rest| rest unless rest.empty? }]
          else
            [nil, payload]
          end
        else [nil, payload]
        end
      rescue *Text::FAULTS # a Hash's own methods
        [nil, payload]
      end

      # @return [Array(String, String)] text, and what goes into the header's error, or
      #   {Encoder::LINE}
      def formatted(formatter, label, t_ns, prog, message)
        line = own_call(formatter).call(label, Time.at(0, t_ns, :nsec), prog, message)
        line = Text.line(Text.name(line))
        return [line, Encoder::LINE] if @settings.plain?
        [line, (Text.error_field(message) if ::Exception === message)]
      rescue *Text::FAULTS => error
        unless @settings.plain?
          told =
            Text.field(
              "error",
              {class: Text.class_of(error), message: "the formatter raised: #{Text.message(error)}"}
            )
        end
        [Text.of(message), told]
      end

      # Tags go beside the text: so what ActiveSupport's TaggedLogging adds to the formatter, which
      # would put them into it, is passed by. Of a plain line our own formatter makes that part
      # already.
      def own_call(formatter)
        if !formatter.respond_to?(:current_tags) ||
            (@settings.plain? && !formatter.instance_of?(Formatter))
          return formatter
        end
        formatter.class.instance_method(:call).bind(formatter)
      rescue NameError
        formatter
      end

      # Whether the message as it is is the text: the formatter is Ruby's, whose line readers can
      # make (and for a plain wire the sender).
      def raw?(formatter)
        return true if formatter.nil?
        unless formatter.instance_of?(Formatter) || formatter.instance_of?(::Logger::Formatter)
          return false
        end
        !@settings.plain? || !(formatter.datetime_format || !(current_tags(formatter) || []).empty?)
      end

      # The same tags, which never change when they are frozen, stand in the queue once.
      def tags_field(formatter)
        tags = current_tags(formatter)
        return if tags.nil? || tags.empty?
        last = @last_tags
        return last[1] if last && last[0].equal?(tags)
        field = Text.field("tags", tags)
        @last_tags = [tags, field].freeze if tags.frozen?
        field
      end

      # @return [Array, nil]
      def current_tags(formatter)
        return formatter.current_tags if formatter.instance_of?(Formatter)
        begin # a method of the program's own
          ::Array.try_convert(formatter.current_tags) if formatter.respond_to?(:current_tags)
        rescue *Text::FAULTS
          nil
        end
      end
    end
  end
end
