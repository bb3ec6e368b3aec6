# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # The default formatter of a logger with an endpoint. Its line is that of Ruby's formatter. A
    # record carries the message and, beside it, the tags; readers make the line. The formatter
    # stores tags by fiber, as ActiveSupport's formatters do.
    #
    # **Threads and fibers**: each fiber has its own tags. **Fork**: a child keeps the tags of the
    # fiber that forked.
    class Formatter < ::Logger::Formatter
      DEPTH = 10 # levels of nested Arrays of tags that are flattened
      private_constant :DEPTH

      # The new formatter has no tags.
      def initialize
        super
        @tags = [].freeze
        @key = :"godwit_logger_tags_#{object_id}"
      end

      # Adds tags during the block.
      # @param tags [Array<Object>] nil and empty tags are ignored
      # @yieldparam formatter [Formatter] this formatter
      # @return [Object] the block's value
      def tagged(*tags)
        before = Thread.current[@key]
        push_tags(*tags)
        yield self
      ensure
        Thread.current[@key] = before
      end

      # @param tags [Array<Object>] nil and empty tags are ignored
      # @return [Array<Object>] the added tags
      def push_tags(*tags)
        tags = flat(tags).reject { |tag| Text.empty?(tag) }
        named = tags.map { |tag| (::String === tag) ? Text.name(tag).freeze : tag }
        Thread.current[@key] = [*current_tags, *named].freeze
        tags
      end

      # @param count [Integer] how many tags to remove from the end
      # @return [Array<Object>] the removed tags
      def pop_tags(count = 1)
        remaining = current_tags.dup
        removed = remaining.pop(count)
        Thread.current[@key] = remaining.freeze
        removed
      end

      # Removes all tags.
      # @return [Array]
      def clear_tags! = Thread.current[@key] = [].freeze
      # @return [Array<Object>] the tags of this fiber; frozen
      def current_tags = Thread.current[@key] || @tags

      # @private
      # @return [String, nil] the tags as a field of a record's header, made once for each frozen
      #   Array of tags
      def tags_field
        tags = current_tags
        return if tags.empty?
        known, field = @field
        return field if known.equal?(tags)
        field = Text.field("tags", tags)
        # ActiveSupport changes its Array of tags, which is not frozen, in place: store no field.
        @field = [tags, field].freeze if tags.frozen?
        field
      end

      # @return [String, nil] such as "[req-9] "
      def tags_text
        tags = current_tags
        "#{tags.map { |tag| "[#{Text.name(tag)}]" }.join(" ")} " unless tags.empty?
      end

      # The line that Ruby's Logger writes, with tags if there are some.
      # @param severity [String] label of the level
      # @param time [Time]
      # @param progname [String, nil]
      # @param message [Object]
      # @return [String]
      def call(severity, time, progname, message)
        super(severity, time, progname, with_tags(message))
      end

      # @private
      # @return [Object] the message; if there are tags, a String: the tags, then the message's text
      def with_tags(message)
        tags = tags_text
        tags ? "#{tags}#{msg2str(message)}" : message
      end

      private

      # Array#flatten calls methods of each object, which may raise, and refuses an Array that
      # contains itself.
      def flat(tags, depth = 0, into = [])
        tags.each do |tag|
          (::Array === tag && depth < DEPTH) ? flat(tag, depth + 1, into) : into << tag
        end
        into
      end

      def initialize_copy(original)
        super
        @tags = original.current_tags
        @key = :"godwit_logger_tags_#{object_id}"
      end
    end
  end
end
