# frozen_string_literal: true

require_relative "../../work/lib/godwit/work/engine/kafka/settings/properties"
require_relative "../../work/lib/godwit/work/engine/kafka/cluster/rights"

# The tables of work/docs/kafka.md: the properties of librdkafka that Work sets, the rights that it
# needs, and the tests that do not hold on Kafka. Each stands between the comments "begin NAME" and
# "end NAME".
module Generate
  KAFKA_PAGE = "work/docs/kafka.md"
  # Values that depend on the connection, as the page shows them.
  COMPUTED = {
    brokers: "of the URL", protocol: "of the URL", mechanism: "of `sasl:`", user: "of the URL",
    secret: "of the URL", client: "process, member, topic", group: "of the consumer",
    id: "`godwit-`, random", message_timeout: "`timeout:`", socket_timeout: "10,000",
    idle: "5,000 of outputs", fetch_wait: "10 of readers", heartbeat: "1,000",
    queued_kbytes: "65,536 / partitions", instance: "`instance:`, topic"
  }.freeze
  HANDLES = {
    %i[producer transactional consumer reader] => "all", %i[producer transactional] => "producers",
    %i[consumer reader] => "consumers, readers", %i[transactional] => "of outputs",
    %i[consumer] => "consumers", %i[reader] => "readers"
  }.freeze

  module_function

  def kafka_md(page = File.read(File.join(ROOT, KAFKA_PAGE)), found = kafka_exceptions)
    {"properties" => kafka_properties, "rights" => kafka_rights,
     "differences" => kafka_differences(found)}
      .reduce(page) do |text, (name, table)|
        limits = ["<!-- begin #{name} -->\n", "<!-- end #{name} -->"]
        before, rest = text.split(limits.first, 2)
        after = rest&.split(limits.last, 2)&.last
        raise "#{KAFKA_PAGE} lacks #{limits.join("or ")}" unless after
        [before, limits.first, table, limits.last, after].join
      end
  end

  def kafka_rights
    rows = Godwit::Work.const_get(:Kafka)::Rights::TABLE.map { |row| "| #{row.join(" | ")} |" }
    <<~MD
      | operation | rights |
      | --- | --- |
      #{rows.join("\n")}
    MD
  end

  def kafka_properties
    fixed, free = Godwit::Work.const_get(:Kafka)::Properties::TABLE.partition { |one| !one.change }
    <<~MD
      | yours to change | value | of | why |
      | --- | ---: | --- | --- |
      #{kafka_rows(free) { |one| one.reason }}

      | set by Work | value | of | why | instead |
      | --- | ---: | --- | --- | --- |
      #{kafka_rows(fixed) { |one| "#{one.reason} | #{one.instead}" }}
    MD
  end

  def kafka_rows(properties)
    properties.map { |one|
      "| `#{one.name}` | #{kafka_value(one.value)} | #{HANDLES.fetch(one.kinds)} | #{yield one} |"
    }.join("\n")
  end

  def kafka_value(value)
    case value
    when nil then "librdkafka's"
    when Symbol then COMPUTED.fetch(value)
    when Integer then value.to_s.gsub(/(?<=\d)(?=(\d{3})+\z)/, ",")
    else "`#{value}`"
    end
  end

  # @return [Array<Array(String, String, String, String)>] as {exceptions}
  def kafka_exceptions
    Dir.glob("work/test/{log,consumer}/**/*.rb", base: ROOT).sort.flat_map { |path|
      exceptions_of(path, joined_lines(File.read(File.join(ROOT, path))))
    }.select { |backend, *| backend == "kafka" }
  end

  # Tests with one reason share a row.
  def kafka_differences(found)
    rows = found.group_by(&:last).map do |reason, tests|
      names = tests.group_by { |_, path| path }.map do |path, all|
        "[#{File.basename(path, "_test.rb")}](../#{path.delete_prefix("work/")}): " \
          "#{all.map { |_, _, scenario| scenario }.join("; ")}"
      end
      "| #{reason} | #{names.join("<br>")} |"
    end
    <<~MD
      | on Kafka | tests of SQLite alone |
      | --- | --- |
      #{rows.join("\n")}
    MD
  end
end
