# frozen_string_literal: true

require "work_helper"
require "open3"

# Compares the declarations of the extension and of FFI with the header of Debian's librdkafka-dev.
class WorkKafkaPrototypesTest < Godwit::WorkCase
  Functions = Godwit::Work.const_get(:Kafka)::Functions
  HEADER = "librdkafka/rdkafka.h"
  TABLE = File.expand_path("../../ext/kafka_ext/librdkafka.h", __dir__)

  # Functions that Debian 12's header lacks => the first version of librdkafka that has them.
  NEWER = {
    0x020200ff => %w[
      ConfigResource_add_incremental_config IncrementalAlterConfigs
      event_IncrementalAlterConfigs_result IncrementalAlterConfigs_result_resources
    ],
    0x020300ff => %w[
      AdminOptions_set_isolation_level ListOffsets event_ListOffsets_result ListOffsets_result_infos
      ListOffsetsResultInfo_topic_partition
    ]
  }.flat_map { |version, names| names.map { |name| [name, version] } }.to_h.freeze

  # A struct of Functions => its type in rdkafka.h; the fields that have another name in rdkafka.h.
  STRUCTS = {
    Functions::Partition => ["rd_kafka_topic_partition_t", {error: :err, private: :_private}],
    Functions::Partitions => ["rd_kafka_topic_partition_list_t", {count: :cnt, elements: :elems}]
  }.freeze
  MESSAGE = %i[err rkt partition payload len key key_len offset _private].freeze

  # @return [String] the preprocessed header, and its version
  def self.header
    @header ||= preprocess("#include <#{HEADER}>\nversion RD_KAFKA_VERSION\n")
  end

  def self.preprocess(source)
    text, status = Open3.capture2("cc", "-E", "-P", "-x", "c", "-", stdin_data: source)
    status.success? ? text : raise("#{HEADER} is not there: bin/setup installs librdkafka-dev")
  end

  def version = Integer(self.class.header[/^version (0x\h+)/, 1])
  def newer = NEWER.select { |_, since| since > version }.keys

  # @return [Hash{String => String}] prototypes of functions.h by function name without rd_kafka_
  def prototypes
    text = File.read(Functions::PROTOTYPES).sub(%r{/\*.*?\*/}m, "")
    text.split(";").map(&:strip).reject(&:empty?).to_h { |one| [one[/rd_kafka_(\w+)\(/, 1], one] }
  end

  def ffi = prototypes.except(*newer).values.map { |one| "#{one};" }.join("\n")

  # @return [String] C assertions: FFI's structs have the sizes and field offsets of the header
  def offsets
    STRUCTS.map { |struct, (type, names)|
      struct.members.map { |member|
        same("offsetof(#{type}, #{names.fetch(member, member)})", struct.offset_of(member))
      } << same("sizeof(#{type})", struct.size)
    }.join("\n")
  end

  def fields
    found = MESSAGE.flat_map { |field|
      [
        same("offsetof(gw_message_t, #{field})", "offsetof(rd_kafka_message_t, #{field})"),
        same("sizeof(((gw_message_t *)0)->#{field})", "sizeof(((rd_kafka_message_t *)0)->#{field})")
      ]
    }
    [*found, same("sizeof(gw_message_t)", "sizeof(rd_kafka_message_t)")].join("\n")
  end

  def same(one, other) = "_Static_assert(#{one} == #{other}, \"#{one}\");"

  # @return [String] the compiler's errors; empty if all declarations agree
  def complaints
    source = [
      "#include <#{HEADER}>", ffi, File.read(TABLE),
      "#define DECLARE(type, name, parameters) type rd_kafka_##name parameters;",
      "GW_LIBRDKAFKA_FUNCTIONS(DECLARE)",
      "#define COMPARE(name, value) _Static_assert(name == value, #name);",
      "GW_LIBRDKAFKA_CONSTANTS(COMPARE)", fields, offsets
    ].join("\n")
    command = %w[cc -std=gnu11 -c -Wall -Werror -x c - -o /dev/null]
    Open3.capture2e(*command, stdin_data: source).first
  end

  test "FFI and the extension declare what the header declares" do
    assert_equal "", complaints
    assert_operator prototypes.size, :>, 100
  end

  test "exactly the functions that are newer than the header are left out" do
    declared = self.class.header.scan(/\brd_kafka_(\w+)\s*\(/).flatten
    assert_equal newer.sort, (prototypes.keys - declared).sort
    assert_empty NEWER.keys - prototypes.keys
  end
end
