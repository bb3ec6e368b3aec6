# frozen_string_literal: true

require "work_helper"

# Tests which Kafka URLs are accepted, and which pieces of a URL an error shows.
class WorkKafkaUrlTest < Godwit::WorkCase
  Url = Godwit::Work.const_get(:Kafka)::Url
  SECRET = "Tr0ub4dor"

  def parse(text) = Url.parse(text)

  # Asserts that the block raises, and that no text of the error contains the secret.
  # @return [String] the message of the error
  def refused(secret: SECRET)
    error = assert_raises(Godwit::ArgumentValueError) { yield }
    assert_equal :connect, error.operation
    texts = [error.message, error.full_message(highlight: false), error.inspect, error.to_s]
    texts << error.detailed_message if error.respond_to?(:detailed_message)
    texts.each { |text| refute_includes text, secret }
    assert_nil error.cause
    error.message
  end

  test "hosts have the port that they name, or 9092" do
    url = parse("kafka://a:9093,b-1.example.org,10.0.0.1:1,[::1],[fe80::1]:65535")
    assert_equal "a:9093,b-1.example.org:9092,10.0.0.1:1,[::1]:9092,[fe80::1]:65535", url.brokers
    assert_equal [false, nil, nil], [url.tls?, url.user, url.secret]
    assert_equal "kafka://#{url.brokers}", url.inspect
    assert_predicate url, :frozen?
    assert_equal "h:9092", parse("KAFKA://h").brokers
  end

  test "a user and a secret are percent-encoded" do
    url = parse("kafka+ssl://us%40r:a%2Fb%3a:%25%C3%A9+@h:1,i:2")
    assert_equal [true, "us@r", "a/b::%é+", %w[h:1 i:2]],
      [url.tls?, url.user, url.secret.to_s, url.hosts]
    assert_equal "kafka+ssl://us%40r:***@h:1,i:2", url.to_s
    assert_equal url.to_s, parse(url.to_s).to_s
  end

  test "neither inspect, pp nor an error about the object shows the secret" do
    require "pp"
    url = parse("kafka://user:#{SECRET}@host")
    assert_equal SECRET, url.secret.to_s
    error = assert_raises(NoMethodError) { url.no_such_method }
    texts = [url, [url], url.secret, {a: url.secret}].map(&:inspect)
    texts.push(url.to_s, url.pretty_inspect, {a: url.secret}.pretty_inspect, error.message)
    texts.each { |text| refute_includes text, SECRET }
    assert_equal "kafka://user:***@host:9092", url.to_s
  end

  WRONG = {
    "kafka://" => "no host",
    "kafka://:9092" => "host has no name",
    "kafka://a," => "host has no name",
    "kafka://h:0" => "port is 1 to 65535",
    "kafka://h:65536" => "port is 1 to 65535",
    "kafka://h:" => "port of digits",
    "kafka://h:port" => "port of digits",
    "kafka://h:-1" => "port of digits",
    "kafka://h h" => "a name",
    "kafka://h\n" => "a name",
    "kafka://[::1" => "IPv6",
    "kafka://[1]" => "IPv6",
    "kafka://::1" => "host has no name",
    "kafka://h/" => "no path",
    "kafka://h?a=1" => "no path",
    "kafka://h#a" => "no path",
    "kafka://user@h" => "USER:SECRET",
    "kafka://:#{SECRET}@h" => "USER:SECRET",
    "kafka://user:@h" => "USER:SECRET",
    "kafka://@h" => "USER:SECRET",
    "kafka://user:#{SECRET}@" => "no host",
    "kafka://user:#{SECRET}@host:bad" => "port of digits",
    "kafka://user:#{SECRET}@x@host" => "%40",
    "kafka://user:a/#{SECRET}@host" => "%2F",
    "kafka://user:#{SECRET}" => "port of digits",
    "kafka://user:%zz#{SECRET}@host" => "%25",
    "kafka://user:%00#{SECRET}@host" => "NUL",
    "kafka://user:%ff#{SECRET}@host" => "UTF-8",
    "kafka://user:\xff#{SECRET}@h".b => "UTF-8",
    "kafka://\xffh" => "UTF-8",
    "kafka+tls://user:#{SECRET}@host" => "kafka+ssl://",
    "kafka:user:#{SECRET}@host" => "kafka+ssl://",
    "kafka:/user:#{SECRET}" => "kafka+ssl://",
    " kafka://user:#{SECRET}@host" => "kafka+ssl://"
  }.freeze

  test "wrong URLs are refused, with what is wrong" do
    WRONG.each do |text, problem|
      assert_includes refused { parse(text) }, problem, text.inspect
      assert Url.kafka?(text), text.inspect
    end
  end

  test "an error shows what cannot be a secret" do
    {
      "kafka://h:0" => "kafka://h:0", "kafka://a,,b:7" => "kafka://a,,b:7",
      "kafka://u:p@h:0" => "kafka://***@h:0", "kafka://h:word" => "kafka://***",
      "kafka://u:p@h/x" => "kafka://***", "kafka:h" => "***"
    }.each { |text, shown| assert_includes refused { parse(text) }, "got #{shown.inspect}" }
    assert_equal %w[*** *** sqlite:work.db],
      ["kafak://u:p", "kafak:u:p@h", "sqlite:work.db"].map { |text| Url.shown(text) }
  end

  test "connect takes a badly written URL for one of Kafka, or shows no secret" do
    connection = Godwit::Work.const_get(:Connection)
    ["kafak://u:#{SECRET}@h", "kafka+tls://u:#{SECRET}@h", " kafka://u:#{SECRET}@h",
      "kafka//u:#{SECRET}@h", "redis://u:#{SECRET}@h"].each do |text|
      message = refused { connection.open(text) }
      assert_includes message, text.include?("kafka") ? "kafka+ssl://USER:SECRET" : "sqlite:PATH"
    end
  end

  test "no malformed URL shows the secret (fuzz)" do
    random = Random.new(Minitest.seed)
    good = "kafka+ssl://user:#{SECRET}@host:9093,[::1]:9094"
    pieces = ["@", "/", ":", "?", "#", "%", "%40", "%zz", ",", "[", "]", " ", "\n", "\0", "\xff",
      "//", "://", "kafka", "0", "99999", ""]
    refused = Godwit::TestSupport::Length.of(3_000, long: 100_000).times.count do
      fuzzed = mutate(good, pieces, random)
      next unless fuzzed.b.include?(SECRET) && !host?(fuzzed)
      shows_no_secret(fuzzed)
    end
    assert_operator refused, :>, 500
  end

  # Changes random characters before and behind the secret, and leaves the secret as it is.
  def mutate(text, pieces, random)
    head, tail = text.b.split(SECRET, 2)
    1.upto(random.rand(1..4)) do
      part = [head, tail].sample(random: random)
      at = random.rand(0..part.size)
      part[at, random.rand(0..3)] = pieces.sample(random: random).b
    end
    [head, SECRET, tail].join.force_encoding(Encoding::UTF_8)
  end

  HOST = /\A[\w.-]*#{SECRET}[\w.-]*(:\d*)?\z/n

  # @return [Boolean] whether the secret is in a host's name, which an error may show
  def host?(text)
    rest = text.b.split("://", 2).last.rpartition("@").last
    rest.split(",").any? { |one| one.match?(HOST) }
  end

  # @return [Boolean] whether Url.parse refuses the text
  def shows_no_secret(text)
    url = parse(text)
    named = url.user&.include?(SECRET) # kafka://user#{SECRET}:host@h: inspect shows a user
    refute_includes url.inspect, SECRET, text.inspect unless named
    false
  rescue Godwit::ArgumentValueError => error
    [error.message, error.full_message, error.inspect].each do |shown|
      refute_includes shown, SECRET, text.inspect
    end
    true
  end
end
