# frozen_string_literal: true

require "ffi"

module Godwit
  module Work
    module Kafka
      # The functions of librdkafka that Ruby calls. Each method has its function's name without
      # `rd_kafka_`.
      #
      # **Threads**: any, as librdkafka's functions; those of WAITING release the GVL.
      # @private
      module Functions
        extend ::FFI::Library

        PROTOTYPES = File.join(__dir__, "functions.h")
        # The functions that may wait for a broker or a thread of librdkafka.
        WAITING = %i[
          destroy_flags consume_stop metadata queue_poll seek_partitions init_transactions
          send_offsets_to_transaction commit_transaction abort_transaction
        ].freeze
        # A prototype: the type of its value, its name without `rd_kafka_`, its parameters.
        FORM = /^(?<type>\w.*?)\brd_kafka_(?<name>\w+)\((?<parameters>[^;]*)\);/
        CALLBACK = /\(\*\)\([^)]*\)/
        NUMBERS = {"void" => :void, "size_t" => :size_t, "int" => :int, "int32_t" => :int32,
                   "int64_t" => :int64}.freeze
        LOADING = Mutex.new

        # A partition in a list: `rd_kafka_topic_partition_t`.
        class Partition < ::FFI::Struct
          layout :topic, :pointer, :partition, :int32, :offset, :int64, :metadata, :pointer,
            :metadata_size, :size_t, :opaque, :pointer, :error, :int, :private, :pointer
        end

        # The brokers and topics of a cluster: `struct rd_kafka_metadata`.
        class Metadata < ::FFI::Struct
          layout :brokers, :int, :broker_list, :pointer, :topics, :int, :topic_list, :pointer
        end

        # A broker in {Metadata}.
        class MetadataBroker < ::FFI::Struct
          layout :id, :int32, :host, :pointer, :port, :int
        end

        # A topic in {Metadata}.
        class MetadataTopic < ::FFI::Struct
          layout :name, :pointer, :partitions, :int, :partition_list, :pointer, :error, :int
        end

        # A list of partitions: `rd_kafka_topic_partition_list_t`.
        class Partitions < ::FFI::Struct
          layout :count, :int, :size, :int, :elements, :pointer
        end

        class << self
          def load
            LOADING.synchronize do
              @loaded ||= begin
                ffi_lib_flags :now, :local
                ffi_lib Library.find.path
                File.read(PROTOTYPES).scan(FORM) { |found| attach(*found) }
                true
              end
            end
          end

          private

          def attach(type, name, parameters)
            name = name.to_sym
            parameters = parameters.gsub(CALLBACK, "*").split(",").map { |one| type_of(one) }
            attach_function name, "rd_kafka_#{name}", parameters - [:void], type_of(type),
              blocking: WAITING.include?(name)
          end

          # The type for FFI. Enumerations are Integers.
          # @param text [String] a type in C
          # @return [Symbol] for the gem ffi
          def type_of(text)
            text = text.strip
            return :string if text == "const char *"
            text.include?("*") ? :pointer : NUMBERS.fetch(text, :int)
          end
        end
      end
    end
  end
end
