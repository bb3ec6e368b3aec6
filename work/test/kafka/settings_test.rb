# frozen_string_literal: true

require "work_helper"
require "support/librdkafka"
require "ffi"

# The settings of `connect`, and the properties of librdkafka that follow from these settings.
class WorkKafkaSettingsTest < Godwit::WorkCase
  Kafka = Godwit::Work.const_get(:Kafka)
  Settings = Kafka::Settings
  Properties = Kafka::Properties
  Functions = Kafka::Functions
  Configuration = Kafka::Configuration
  SECRET = "Tr0ub4dor"
  TYPES = {producer: 0, transactional: 0, consumer: 1, reader: 1}.freeze

  # libc's functions that open and close the file to which librdkafka lists its properties.
  module Listing
    extend FFI::Library

    ffi_lib ["c", "libc.so.6"]
    attach_function :fopen, %i[string string], :pointer
    attach_function :fclose, [:pointer], :int
  end

  Functions.load
  Functions.attach_function(:properties_show, "rd_kafka_conf_properties_show", [:pointer], :void)

  # @return [String] the message of connect's error when GODWIT_WORK_SETTINGS is this text
  def refused_by_environment(text, url = ENV["GODWIT_WORK_URL"], **options)
    ENV["GODWIT_WORK_SETTINGS"] = text
    assert_raises(Godwit::ArgumentValueError) { Godwit::Work.connect(url, **options) }.message
  end

  test "the environment has settings for its own URL, and keywords go before" do
    before = %w[GODWIT_WORK_URL GODWIT_WORK_SETTINGS].to_h { |name| [name, ENV[name]] }
    ENV["GODWIT_WORK_URL"] = "kafka+ssl://user:#{SECRET}@h"
    ca = %({"sasl": "SCRAM-SHA-256", "kafka": {"ssl.ca.location": "/no/ca.pem"}})
    assert_match(/ssl\.ca\.location failed/, refused_by_environment(ca))
    assert_match(/sasl: takes PLAIN.*"none"/, refused_by_environment(ca, sasl: "none"))
    assert_match(/sasl: takes PLAIN.*"nil"/, refused_by_environment('{"sasl": "nil"}'))
    assert_match(/colour: is not a setting of Kafka/, refused_by_environment('{"colour": 1}'))
    ["[1]", "{", %({"a": "#{SECRET}), "\xff"].each do |text|
      message = refused_by_environment(text)
      assert_match(/GODWIT_WORK_SETTINGS must be a JSON object/, message)
      refute_includes message, SECRET
    end
    assert_match(/host has no name/, refused_by_environment(ca, "kafka://:1"))
    ENV["GODWIT_WORK_URL"] = "sqlite::memory:"
    assert_match(/durability: takes.*:disk/, refused_by_environment('{"durability": "disk"}'))
  ensure
    before&.each { |name, value| ENV[name] = value }
  end

  def settings(url = "kafka://h", **options) = Settings.new(url, **options)

  # @return [Hash{Symbol => Hash}] the properties of each kind of handle
  def all(settings)
    {producer: settings.producer, transactional: settings.transactional("id"),
     consumer: settings.consumer("g", 12), reader: settings.reader}
  end

  def refused(url = "kafka://h", **options)
    assert_raises(Godwit::ArgumentValueError) { settings(url, **options).check }.message
  end

  # @return [Object] the value of the block, which runs as if librdkafka had this version
  def with_version(version, &block)
    Kafka::Library.stub(:find, Kafka::Library::Found.new("a file", version), &block)
  end

  test "group_protocol: :consumer needs librdkafka 2.12, and leaves its times to the brokers" do
    assert_match(/group_protocol: takes :classic or :consumer/, refused(group_protocol: :new))
    error = assert_raises(Godwit::UnsupportedError) do
      with_version("2.11.9") { settings(group_protocol: :consumer) }
    end
    assert_match(/needs librdkafka 2\.12\.0, and this is 2\.11\.9: type gem update/, error.message)
    classic = all(settings)
    with_version("2.12.0") do
      assert_equal classic, all(settings(group_protocol: "classic"))
      found = all(settings(group_protocol: "consumer"))
      assert_equal classic.except(:consumer), found.except(:consumer)
      assert_equal %w[partition.assignment.strategy session.timeout.ms heartbeat.interval.ms].sort,
        (classic[:consumer].keys - found[:consumer].keys).sort
      assert_equal({"group.protocol" => "consumer"},
        found[:consumer].except(*classic[:consumer].keys))
      message = refused(group_protocol: :consumer, kafka: {"session.timeout.ms" => 9_000})
      assert_match(/no "session\.timeout\.ms" with group_protocol: :consumer/, message)
    end
  end

  test "instance: names a static member for each topic" do
    found = settings(instance: "worker-3")
    assert_equal "worker-3.payments",
      found.consumer("g", 1, nil, "payments").fetch("group.instance.id")
    refute_includes found.reader.keys, "group.instance.id"
    marks = [%w[a t], %w[a t], %w[a u], %w[b t]].map do |name, topic|
      settings(instance: name).static_mark(topic)
    end
    assert_equal [marks[0], marks.uniq.size], [marks[1], 3]
    assert_equal marks, marks.grep(/\A\h{12}\z/)
    assert_nil settings.static_mark("t")
    ["", "a b", "ä", "x" * 101, :a, 3].each do |wrong|
      assert_match(/instance: takes a name of 1 to 100 letters/, refused(instance: wrong))
    end
    assert_match(/use the keyword instance:/, refused(kafka: {"group.instance.id" => "a"}))
  end

  # Without these properties records may be lost or written twice.
  SAFE = {"enable.idempotence" => "true", "acks" => "all"}.freeze
  COMMITTED = {
    "isolation.level" => "read_committed", "enable.auto.commit" => "false",
    "enable.auto.offset.store" => "false", "auto.offset.reset" => "error"
  }.freeze

  test "each kind of handle has its properties" do
    given = {"bootstrap.servers" => "h:9092", "allow.auto.create.topics" => "false"}
    {
      producer: SAFE, transactional: {**SAFE, "transactional.id" => "id"},
      consumer: {**COMMITTED, "group.id" => "g", "max.poll.interval.ms" => "86400000"},
      reader: {**COMMITTED, "group.id" => "_godwit.reader", "enable.partition.eof" => "true"}
    }.each do |kind, expected|
      properties = all(settings).fetch(kind)
      assert_equal({**given, **expected}, properties.slice(*given.keys, *expected.keys), kind)
      assert_predicate properties, :frozen?
    end
  end

  CHANGEABLE, FIXED = Properties::TABLE.partition(&:changeable?)

  test "each row of the table is complete, and has a name of its own" do
    Properties::TABLE.each do |row|
      assert_match(/\A[A-Z`0-9].{1,98}\.\z/, row.reason, row.name)
      assert_empty row.kinds - Properties::KINDS
      assert_equal row.changeable?, row.instead.nil?, row.name
    end
    assert_equal Properties::TABLE.size, Properties::BY_NAME.size
  end

  test "a user changes a property, where it is meant" do
    CHANGEABLE.each do |row|
      changed = row.value.is_a?(Integer) ? "4321" : "2345"
      all(settings(kafka: {row.name.to_sym => changed}).check).each do |kind, properties|
        wanted = row.kinds.include?(kind) ? {row.name => changed} : {}
        assert_equal wanted, properties.slice(row.name), "#{row.name} of #{kind}"
      end
    end
  end

  test "a user may not change what Work sets itself, also by another name" do
    FIXED.each do |row|
      names = [row.name, *Properties::ALIASES.select { |_, name| name == row.name }.keys]
      names.each do |name|
        assert_equal "connect: kafka: takes no #{name.inspect}, which Work sets itself: " \
          "#{row.instead}", refused(kafka: {name => "1"})
      end
    end
  end

  test "librdkafka takes each kind of handle" do
    url = "kafka+ssl://user:#{SECRET}@127.0.0.1:1"
    [settings("kafka://[::1]:1"), settings(url), settings(url, sasl: "SCRAM-SHA-512", timeout: 600),
      settings(kafka: {"transaction.timeout.ms" => 2000, "session.timeout.ms" => 500})]
      .each do |one|
        all(one.check).each { |kind, own| assert Kafka::Handle.new(TYPES.fetch(kind), own).close }
      end
  end

  test "the URL and sasl: give the protocol" do
    {
      ["kafka://h", nil] => ["plaintext", nil],
      ["kafka+ssl://h", nil] => ["ssl", nil],
      ["kafka+ssl://u:p@h", nil] => %w[sasl_ssl PLAIN],
      ["kafka+ssl://u:p@h", "SCRAM-SHA-256"] => %w[sasl_ssl SCRAM-SHA-256],
      ["kafka://u:p@h", "scram-sha-512"] => %w[sasl_plaintext SCRAM-SHA-512],
      ["kafka://u:p@h", "PLAIN"] => %w[sasl_plaintext PLAIN]
    }.each do |(url, sasl), expected|
      all(settings(url, sasl: sasl)).each_value do |properties|
        assert_equal expected, properties.values_at("security.protocol", "sasl.mechanisms")
        names = properties.values_at("sasl.username", "sasl.password").compact.map(&:to_s)
        assert_equal (expected.last ? %w[u p] : []), names
      end
    end
  end

  test "wrong keywords of connect, unknown properties and bad values are refused at once" do
    {
      {sasl: "PLAIN"} => "sasl: needs a user and a secret in the URL: kafka://USER:SECRET@h:9092",
      {sasl: "GSSAPI"} => "sasl: takes PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 or nil: got \"GSSAPI\"",
      {sasl: 1} => "got 1 (Integer)", {timeout: 0} => "timeout: takes seconds, more than 0",
      {timeout: "3"} => "seconds", {timeout: Float::NAN} => "seconds", {timeout: -1} => "seconds",
      {timeout: Float::INFINITY} => "seconds", {timeout: 1i} => "seconds",
      {kafka: []} => "kafka: takes a Hash", {kafka: {1 => 2}} => "names of properties",
      {kafka: {"a b" => 2}} => "names of properties",
      {kafka: {"debug" => nil}} => "kafka: \"debug\" takes a String without NUL, an Integer, true",
      {kafka: {"debug" => "a\0"}} => "without NUL", {kafka: {"debug" => 1.5}} => "an Integer",
      {kafka: {"no.such" => 1}} => "connect: kafka: \"no.such\": No such configuration property",
      {kafka: {"linger.ms" => "soon"}} => "\"linger.ms\": Invalid value",
      {kafka: {"fetch.min.bytes" => -5}} => "\"fetch.min.bytes\": Configuration property",
      {kafka: {"batch.size" => 0}} => "\"batch.size\": Configuration property",
      {kafka: {"socket_cb" => "1"}} => "\"socket_cb\": Property"
    }.each { |options, text| assert_includes refused(**options), text }
    message = refused("kafka://u:#{SECRET}@h")
    assert_includes message, "kafka://u:***@h:9092: a user without TLS needs sasl:"
    refute_includes message, SECRET
  end

  test "a refused configuration is destroyed, a good one is not" do
    destroyed = []
    original = Functions.method(:conf_destroy)
    Functions.stub(:conf_destroy, ->(one) { destroyed << one && original.call(one) }) do
      made = Configuration.make(settings.producer)
      assert_empty destroyed
      Configuration.destroy(made)
      assert_raises(Godwit::ArgumentValueError) { Configuration.make("no.such" => "1") }
      assert_equal 2, destroyed.size
      settings.check
      assert_equal 6, destroyed.size
    end
  end

  test "computed values" do
    assert_equal [true, false], [settings, settings(transactions: false)].map(&:transactions?)
    kbytes = [1, 4, 5, 64, 10_000].map do |partitions|
      settings.consumer("g", partitions)["queued.max.messages.kbytes"].to_i
    end
    assert_equal [16 << 10, 16 << 10, 13_107, 1 << 10, 1 << 10], kbytes
    assert_equal "1500", settings(timeout: 1.5).producer["message.timeout.ms"]
    assert_equal "1500", settings(timeout: 1.5).transactional("x")["message.timeout.ms"]
    assert_equal "1", settings(timeout: 0.001).producer["message.timeout.ms"]
    short = settings(kafka: {"transaction.timeout.ms" => "2000", "session.timeout.ms" => 600})
    assert_equal %w[2000 2000],
      short.transactional("x").values_at("message.timeout.ms", "socket.timeout.ms")
    assert_equal %w[30000 10000],
      short.producer.values_at("message.timeout.ms", "socket.timeout.ms")
    assert_equal "200", short.reader["heartbeat.interval.ms"]
  end

  test "neither inspect nor an error shows a secret" do
    hidden = %w[
      ssl.key.password ssl.keystore.password ssl.key.pem ssl_key sasl.oauthbearer.client.secret
      sasl.oauthbearer.config sasl.oauthbearer.assertion.private.key.passphrase
    ].to_h { |name| [name, SECRET] }
    one = settings("kafka+ssl://u:#{SECRET}@h", kafka: hidden)
    texts = [one.inspect, one.to_s, all(one).inspect]
    texts << assert_raises(NoMethodError) { one.no_such_method }.message
    texts << assert_raises(NoMethodError) { one.producer.no_such_method }.message
    hidden.each_key { |name| texts << refused(kafka: {name => [SECRET]}) }
    texts << refused(kafka: [SECRET])
    # The text of librdkafka's error repeats the value of the property.
    error = assert_raises(Godwit::ArgumentValueError) do
      Configuration.make("debug" => Kafka::Secret.new(SECRET))
    end
    assert_includes error.message, "***"
    [*texts, error.message].each { |text| refute_includes text, SECRET }
    assert_equal SECRET, one.producer["sasl.password"].to_s
  end

  # Makes a handle of each kind in a child process.
  # @return [String] the child's standard error, to which librdkafka logs
  def log(url, kafka)
    program = <<~RUBY
      require "godwit/work"
      require "json"
      Kafka = Godwit::Work.const_get(:Kafka)
      one = Kafka::Settings.new(ARGV[0], kafka: JSON.parse(ARGV[1])).check
      [[0, one.producer], [0, one.transactional("id")], [1, one.consumer("g", 1)],
        [1, one.reader]].each { |kind, properties| Kafka::Handle.new(kind, properties).close }
    RUBY
    assert_child(run_child(program, [url, JSON.generate(kafka)], gems: true)).stderr
  end

  test "librdkafka logs nothing, or with debug, but neither warnings nor the secret" do
    assert_empty log("kafka://127.0.0.1:1", {})
    kafka = {
      "batch.size" => 1000, "compression.type" => "lz4", "retries" => 3, "fetch.min.bytes" => 2,
      "queued.min.messages" => 5, "session.timeout.ms" => 7000, "linger.ms" => 1,
      "transaction.timeout.ms" => 9000
    }
    text = log("kafka+ssl://u:#{SECRET}@127.0.0.1:1", {**kafka, "debug" => "all"})
    assert_match(/INIT|CONF/, text)
    refute_match(/CONFWARN/, text)
    refute_includes text, SECRET
  end

  test "a property of the other type of handle is on the table or in a list" do
    consumers, producers = listed.values_at("C", "P").map { |names| names - listed["*"] }
    producers, consumers = producers - consumers, consumers - producers
    {producers => :producer, consumers => :consumer}.each do |names, kind|
      other = (kind == :producer) ? :reader : :producer
      assert_operator names.size, :>, 15
      names.each do |name|
        next if %w[transaction.timeout.ms transactional.id enable.partition.eof].include?(name)
        assert Properties.for?(kind, name), "#{name} of #{kind}"
        refute Properties.for?(other, name), "#{name} of #{other}"
      end
    end
    listed["*"].each do |name|
      assert Properties::KINDS.all? { |kind| Properties.for?(kind, name) }, name
    end
  end

  # @return [Hash] librdkafka's property names by "C" (consumer), "P" (producer) or "*" (both)
  def listed
    @listed ||= begin
      path = File.join(scratch_dir, "properties")
      file = Listing.fopen(path, "w")
      Functions.properties_show(file)
      Listing.fclose(file)
      rows = File.readlines(path).map { |line| line.split("|").first(2).map(&:strip) }
      rows.select { |name, type| %w[C P *].include?(type) && !name.end_with?("_cb") }
        .group_by(&:last).transform_values { |some| some.map(&:first).uniq }
    end
  end

  test "a topic's kafka: takes settings of its creation, without retention" do
    read = Kafka::UserProperties.topic("replication.factor" => 3, :"min.insync.replicas" => 2)
    assert_equal({"replication.factor" => "3", "min.insync.replicas" => "2"}, read)
    assert_predicate read, :frozen?
    %w[retention.ms retention.bytes].each do |name|
      error = assert_raises(Godwit::ArgumentValueError) { Kafka::UserProperties.topic(name => 1) }
      assert_equal "topic: kafka: takes no #{name.inspect}: use the keyword retain:", error.message
    end
  end
end
