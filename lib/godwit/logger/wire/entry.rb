# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # What a {Logger} puts into its queue for one record. Each of tags, payload and error is nil or
    # a header field: comma, key and value. The error is {PREFORMATTED} if the text is a formatter's
    # whole line. The C extension reads the members by their order (logger.h).
    class Entry < Struct.new(:stream, :t_ns, :mono_ns, :thread, :text, :tags, :payload, :error)
      PREFORMATTED = :line
      BYTES = LoggerConstants::ENTRY_BYTES # bytes of memory of an entry besides its texts
      AS_IT_IS = ->(_level, _time, _prog, text) { text }

      class << self
        # Logs a message. An error that another thread raises into this one must reach the program,
        # so the method rescues errors only around the program's own methods.
        # @param tagger [Formatter, nil] supplies the tags if `formatter` has no tags
        def log(handle, level, prog, message, payload, formatter, tagger)
          sender = handle.sender
          entry = build(sender, level, prog, message, payload, formatter, tagger)
          stored = sender.queue.push(entry)
          return stored unless stored == :closed
          return handle.count_late unless handle.replaced?
          log(handle, level, prog, message, payload, formatter, tagger)
        end

        # Makes an Entry without a text, at the current time, as ext/godwit/logger_queue.c does.
        def now(stream, thread)
          new(stream, Process.clock_gettime(Process::CLOCK_REALTIME, :nanosecond),
            Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond), thread)
        end

        # Logs a text that no formatter may change.
        def log_text(handle, level, prog, text)
          log(handle, level, prog, text, nil, handle.settings.plain? ? AS_IT_IS : nil, nil)
        end

        private

        def build(sender, level, prog, message, payload, formatter, tagger)
          plain = sender.plain?
          entry = now(sender.sequence.stream(level, prog), thread_id)
          if payload
            exception, payload = Text.split_error(payload)
            if exception && plain
              # A plain line has no field for the exception, so its text shows the exception.
              message = Text.with(message, exception)
            elsif exception
              error = Text.error_field(exception)
            end
          end
          tagger = nil if formatter.instance_of?(Formatter)
          if raw?(formatter, plain, tagger)
            text = Text.of(message)
            case message
            when ::String # this branch comes first: most messages are Strings
            when ::Exception then error ||= Text.error_field(message)
            when ::Hash then error, payload = data(message, error, payload)
            end
          else
            before = tagger if plain
            text, own_error = format(formatter, entry, prog, message, plain, before)
            error = own_error if own_error
          end
          text = Text.cut(text) if text.bytesize > Text::MAX_BYTES
          unless plain
            entry.tags = tags_field(formatter, tagger) if formatter
            entry.payload = Text.payload_field(payload) if payload
          end
          entry.error = error if error
          entry.text = text
          entry
        end

        # A message that is a Hash is the payload too, unless the call has a payload.
        def data(message, error, payload)
          return [error, payload] if payload
          exception, rest = Text.split_error(message)
          [error || (exception && Text.error_field(exception)), rest]
        end

        # @return [Array(String, String)] the text, and the error field, {PREFORMATTED} or nil
        def format(formatter, entry, prog, message, plain, tagger)
          shown = tagger ? tagger.with_tags(message) : message
          time = Time.at(0, entry.t_ns, :nsec)
          line = own_call(formatter, plain).call(entry.stream.label, time, prog, shown)
          line = Text.line(Text.name(line))
          return [line, PREFORMATTED] if plain
          [line, (Text.error_field(message) if ::Exception === message)]
        rescue *Text::FAULTS => error
          unless plain
            description = "the formatter raised: #{Text.message(error)}"
            field = Text.field("error", {class: Text.class_of(error), message: description})
          end
          [Text.of(message), field]
        end

        # Tags go beside the text, so this method bypasses the `call` of ActiveSupport's
        # TaggedLogging, which puts them into the text. A plain line needs its tags in the text.
        def own_call(formatter, plain)
          return formatter unless formatter.respond_to?(:current_tags)
          return formatter if plain && !formatter.instance_of?(Formatter)
          formatter.class.instance_method(:call).bind(formatter)
        rescue NameError
          formatter
        end

        # @return [Boolean] whether the message is sent as it is: readers (and the sender of plain
        #   lines) then make the line of Ruby's formatter themselves
        def raw?(formatter, plain, tagger)
          return true if formatter.nil?
          known = formatter.instance_of?(Formatter) || formatter.instance_of?(::Logger::Formatter)
          return false unless known
          !plain || (formatter.datetime_format.nil? && current_tags(formatter).to_a.empty? &&
            (tagger.nil? || tagger.current_tags.empty?))
        end

        def tags_field(formatter, tagger)
          return formatter.tags_field unless tagger
          tags = current_tags(formatter)
          return tagger.tags_field if tags.nil? || tags.empty?
          Text.field("tags", [*tagger.current_tags, *tags])
        end

        def current_tags(formatter)
          ::Array.try_convert(formatter.current_tags) if formatter.respond_to?(:current_tags)
        rescue *Text::FAULTS # the program's own method `current_tags` has failed
          nil
        end

        # JRuby's native_thread_id looks up this host's address each time, which may take seconds,
        # and returns the process id.
        if RUBY_ENGINE != "jruby" && Thread.method_defined?(:native_thread_id)
          def thread_id = Thread.current.native_thread_id
        else
          def thread_id = Thread.current.object_id
        end
      end

      singleton_class.prepend(Backend::Native::Entry) if BACKEND == :native

      def pack(sequence)
        seq = sequence.next_seq # this line comes first, since `next_seq` may change the writer
        Header.pack(sequence.before_seq, seq, stream.next_tseq, stream.common, self,
          Text.utf8(text))
      end

      def bytes
        BYTES + text.bytesize + (tags&.bytesize || 0) + (payload&.bytesize || 0) +
          (error&.size || 0)
      end

      # @return [String] a line without NUL, since rsyslog and others would cut the line there
      def line(lines)
        text = Text.utf8(self.text)
        unless error == PREFORMATTED
          prog = stream.prog
          text = lines.build(stream.label, t_ns, stream.pid, prog && Text.utf8(prog), text)
        end
        text.include?("\0") ? text.delete("\0") : text
      end
    end
    private_constant :Entry
  end
end
