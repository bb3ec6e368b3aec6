# frozen_string_literal: true

module Godwit
  module Work
    # Makes the record of a dead-letter topic: the bytes, the key and the headers of the record that
    # failed, and headers that say why.
    # @private
    module DeadLetter
      TEXT = 8_192 # most bytes of a header's value
      FOR = "godwit-for-group"

      module_function

      # Makes the dead letter of a record, and emits the event `dead`.
      # @param assignment [Assignment] the assignment of the record's partition
      # @yieldparam letters [Array<Blocks>] the letter; empty: the class has no dead-letter topic
      def bury(client, assignment, message, error:, attempts:)
        topic = assignment.klass.dead_letters
        if topic
          headers = [*others(message.headers), *headers(message, error: error, attempts: attempts,
            group: assignment.position.group)]
          letter = client.encode_raw(topic, message.raw, message.key, headers)
        end
        yield [*letter]
        client.events.emit(:dead, message: message, error: error, attempts: attempts, topic: topic)
      end

      # The headers of a requeued record: only the group that failed handles it again.
      # @param headers [Array<Array>] of a dead letter
      # @return [Array<Array>] headers of the requeued record
      def returned(headers)
        [*others(headers), [FOR, headers.to_h["godwit-group"]]]
      end

      # Removes the header that names the group of a requeued record: a handler may copy the headers
      # to its outputs, and outputs are for all groups.
      # @param headers [Array<Array>] that a caller of `produce` gave
      # @return [Array<Array>] the other headers
      def for_all(headers) = headers.reject { |name, _| name == FOR }

      # @return [String, nil] the topic of the record that failed; nil: this is no dead letter
      def origin(message) = message.headers.assoc("godwit-topic")&.last

      # @return [Boolean] whether the group handles the record
      def for?(group, message)
        wanted = message.headers.assoc(FOR)
        wanted.nil? || wanted.last == group.b
      end

      # The `message` method of an application's error may itself raise.
      def message_of(error)
        error.message.to_s
      rescue => failure
        "its message raised #{failure.class}"
      end

      # @return [Array<Array>] the headers without Work's own, whose names begin with "godwit-"
      def others(headers) = headers.reject { |name, _| name.start_with?("godwit-") }

      def headers(message, error:, attempts:, group:)
        {
          "error" => "#{error.class}: #{message_of(error)}",
          "backtrace" => error.backtrace.to_a.join("\n"), "attempts" => attempts,
          "group" => group, "topic" => message.topic,
          "partition" => message.partition, "offset" => message.offset,
          "timestamp" => message.timestamp.to_r.to_f
        }.map { |name, value| ["godwit-#{name}", value.to_s.b[0, TEXT]] }
      end
      private_class_method :others, :headers
    end
  end
end
