# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Packs a record into one String, and several such Strings into one message.
    # ext/godwit/logger_packing.c does the same as {join} and {split}.
    module Packing
      BATCH = LoggerConstants::BATCH_MARK.b.freeze # the first frame of a batch
      SIZE = LoggerConstants::SIZE_BYTES
      HEAD = LoggerConstants::PACKED_HEAD_BYTES

      module_function

      def pack(topic, header, text)
        [topic.bytesize, header.bytesize, topic, header, text].pack("nNa*a*a*")
      end

      # @param records [Array<String>] packed records; an element that is no String ends the batch
      # @return [Array(String, Integer)] the second frame of a batch, and how many records are in it
      def join(records, from, most)
        batch = "".b
        count = 0
        while from + count < records.size
          record = records[from + count]
          break unless record.is_a?(String)
          break if count.positive? && batch.bytesize + SIZE + record.bytesize > most
          batch << [record.bytesize].pack("N") << record
          count += 1
        end
        [batch, count]
      end

      def split(message)
        return unless message.is_a?(Array) && message.size == 2 && message[0] == BATCH
        batch = message[1].b
        records = []
        offset = 0
        while offset < batch.bytesize
          return if offset + SIZE + HEAD > batch.bytesize
          size = batch.unpack1("N", offset: offset)
          return unless size >= HEAD && offset + SIZE + size <= batch.bytesize
          records << (frames(batch.byteslice(offset + SIZE, size)) or return)
          offset += SIZE + size
        end
        records unless records.empty?
      end

      # @return [Array<String>, nil] topic, header, text; nil: the String is no packed record
      def frames(record)
        topic, header = record.unpack("nN")
        return if header.nil? || HEAD + topic + header > record.bytesize
        [[HEAD, topic], [HEAD + topic, header], [HEAD + topic + header, record.bytesize]]
          .map { |from, size| record.byteslice(from, size) }
      end

      singleton_class.prepend(Backend::Native::Packing) if BACKEND == :native
    end
    private_constant :Packing
  end
end
