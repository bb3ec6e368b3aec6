# frozen_string_literal: true

require_relative "support/edge_case"
require_relative "../../rakelib/support/json_test_suite"

# JSON.parse, JSON.generate and to_json in an app of the edge, Godwit's module for nginx.
class EdgeJSONTest < EdgeCase
  MUTATIONS = Godwit::TestSupport::Length.of(500, long: 10_000)
  BODIES = [
    '{"item": "book", "n": 3, "price": 8192.47, "tags": ["a", "\u00e9", null], "x": {"y": true}}',
    '[[1, -2.5e10], {"k": "\ud83d\ude00 \\\\ \" \n"}, "", 0, [[[[]]]]]', '"text"',
    "[" * 99 + "]" * 99
  ].freeze
  PIECES = ["\0", "\xff".b, "\xc3".b, "\"", "\\", "[", "{", ",", ":", "1e999", "-", "9" * 30,
    "\\ud800", "NaN", "null", " ", "\r\n"].freeze

  # The app parses the request's body, and generates its answer. At /edge it parses by Edge.json.
  APP = <<~'RUBY'
    class Point
      def initialize(x) = @x = x
      def to_json(*) = JSON.generate("x" => @x)
    end

    class Plain
      def to_s = "plain \"text\""
    end

    run ->(env) {
      body = env["rack.input"].read
      begin
        value = (env["PATH_INFO"] == "/edge") ? Edge.json(env) : JSON.parse(body)
        [200, {"content-type" => "application/json"}, [JSON.generate(value)]]
      rescue JSON::ParserError => error
        [422, {"x-offset" => error.offset}, [error.message]]
      end
    }
  RUBY

  def setup
    super
    edge({"/" => APP, "/eval" => EVALUATES}, conf: "client_max_body_size 2m;",
      server: "keepalive_requests 100000;")
  end

  test "JSONTestSuite passes, except NUL in a key" do
    wrong = suite.reject { |one| right?(one) }
    assert_empty wrong.map(&:name)
    assert_equal "422", post("/", %({"a\\u0000":1})).code, "NUL in a key"
  end

  test "invalid UTF-8 is refused with its offset, in a value and in a key" do
    [
      "\xFF", "\x80", "\xC0\xAF", "\xC1\xBF", "\xE0\x80\xAF", "\xED\xA0\x80", "\xED\xBF\xBF",
      "\xF0\x80\x80\xAF", "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xC3", "\xE2\x82",
      "\xF0\x9F\x98", "\xC3("
    ].each do |bytes|
      [%(["ab#{bytes}"]), %({"k#{bytes}":1}), "[#{bytes}]"].each do |text|
        answer = post("/", text.b)
        assert_equal "422", answer.code, text.inspect
        assert_operator Integer(answer["x-offset"]), :<=, text.bytesize, text.inspect
      end
      assert_no_text "JSON.generate([#{bytes.dump}])"
    end
    text = %(["é€😀", "\\ud83d\\ude00", "\\u0000"])
    assert_equal ["é€😀", "😀", "\0"], JSON.parse(post("/", text).body)
  end

  test "integers end at those of int64, floats have 14 digits, NaN and Infinity do not exist" do
    limits = [(2**63) - 1, -(2**63), 2**53 + 1, 0, -1]
    assert_equal limits.to_s.delete(" "), post("/", limits.to_s).body
    [2**63, -(2**63) - 1, "1e999", "-1e999", "NaN", "Infinity", "-Infinity"].each do |number|
      assert_equal "422", post("/", "[#{number}]").code, number
    end
    assert_equal "[8192.47,0.1,1e22,-0.0,1.0,3.1415926535898,2.5e-7]",
      post("/", "[8192.47, 0.1, 1e22, -0.0, 1.0, 3.141592653589793, 0.00000025]").body
    ["0.0 / 0.0", "1.0 / 0.0", "-1.0 / 0.0"].each { |one| assert_no_text "JSON.generate([#{one}])" }
    assert_match(/too big integer/, post("/", "[#{2**64}]").body)
    # mruby 3.1 has no Integer of more than 64 bits, so `2**64` itself raises.
    assert_match(/RangeError: .*(an Integer has more than 64 bits|overflow)/,
      value_of("JSON.generate([2**64])"))
  end

  test "100 levels are the most, and the error has the offset of the next one" do
    [%w([ ]), ['{"a":', "}"]].each do |left, right|
      nested = ->(levels) { "#{left * levels}#{"1" if left != "["}#{right * levels}" }
      assert_equal nested[100], post("/", nested[100]).body
      [101, 5_000].each do |levels|
        answer = post("/", %(#{" " * 7}#{nested[levels]}))
        assert_equal "422", answer.code
        assert_equal 7 + left.size * 100, Integer(answer["x-offset"]) if levels == 101
      end
    end
    assert_equal "422", post("/", %(["[[{", #{"[" * 100}#{"]" * 100}])).code
    ok = "value = 1; 100.times { value = [value] }; JSON.generate(value)"
    assert_equal "#{"[" * 100}1#{"]" * 100}", value_of(ok)
    assert_no_text ok.sub("100", "101")
    assert_no_text "a = []; a << a; JSON.generate(a)"
  end

  test "objects write themselves by to_json, or else as their to_s" do
    {
      "JSON.generate({a: :b, nil => 1, 2 => [true, false, nil, Point.new(3), Plain.new]})" =>
        %({"a":"b","":1,"2":[true,false,null,{"x":3},"plain \\"text\\""]}),
      "[1, 'a', :b, 1.5, nil, true, {c: {}}].to_json" => %([1,"a","b",1.5,null,true,{"c":{}}]),
      "[1.to_json, 'a'.to_json, nil.to_json, {a: 1}.to_json].join(' ')" => %(1 "a" null {"a":1}),
      '"\\b\\f\\n\\r\\t\\"\\\\/\\x01\\x7f".to_json' => %("\\b\\f\\n\\r\\t\\"\\\\/\\u0001\x7F"),
      "JSON.parse('{\"a\":1,\"b\":2,\"a\":3}').inspect" => %({"a"=>3, "b"=>2}),
      "JSON.parse(' 5 ').inspect" => "5"
    }.each { |code, expected| assert_equal expected, value_of(code), code }
  end

  test "Edge.json answers 400 with the offset, if the app does not rescue it" do
    assert_equal %({"a":[1]}), post("/edge", %({"a": [1]})).body
    {%({"a": [1}) => 9, "" => 0, "[1] x" => 5, "[1,\xFF]".b => 4}.each do |text, most|
      answer = post("/edge", text)
      assert_equal ["400", "application/json"], [answer.code, answer["content-type"]]
      said = JSON.parse(answer.body)
      assert_equal %w[error offset], said.keys
      assert_equal "bad_request", said["error"]
      assert_operator said["offset"], :<=, most, text.inspect
    end
  end

  test "mutated bodies are parsed as CRuby parses them, or get 400" do
    worker = @server.workers
    random = Random.new(seed = Minitest.seed || 1)
    client = connection
    seen = Hash.new(0)
    MUTATIONS.times do |count|
      body = mutated(BODIES[count % BODIES.size].b, random)
      answer = client.get("/edge", body: body)
      seen[answer.status] += 1
      assert_includes [200, 400], answer.status, "seed #{seed}, #{count}: #{body.inspect}"
      right =
        if answer.status == 400
          answer.body.match?(/\A\{"error":"bad_request","offset":\d+\}\z/)
        else
          parsed(answer.body) == parsed(body)
        end
      assert right, "seed #{seed}, #{count}: #{body.inspect} became #{answer.body.inspect}"
    end
    assert_equal 2, seen.size, seen.inspect
    assert_equal worker, @server.workers
  end

  private

  def post(...) = @server.post(...)
  def value_of(code) = ask(code, path: "/eval")

  def assert_no_text(code) = assert_match(/JSON::GeneratorError: /, value_of(code), code)

  def suite
    Godwit::JSONTestSuite.cases
  rescue Godwit::DebianSource::Failure => error
    skip "JSONTestSuite: #{error.message}"
  end

  def right?(one)
    answer = post("/", one.input)
    return %w[200 422].include?(answer.code) unless one.accepted? || one.refused?
    return answer.code == "422" if one.refused? || one.name == "y_object_escaped_null_in_key.json"
    answer.code == "200" && parsed(one.input) == parsed(answer.body)
  end

  # @return [Object] value of a JSON text; Floats are rounded to 12 digits, since the edge writes 14
  def parsed(text)
    options = {max_nesting: 200, allow_duplicate_key: true}
    rounded(JSON.parse(text.dup.force_encoding("UTF-8"), **options))
  end

  def rounded(value)
    case value
    when Array then value.map { |one| rounded(one) }
    when Hash then value.transform_values { |one| rounded(one) }
    when Float then Float("%.12g" % value)
    else value
    end
  end

  def mutated(text, random)
    random.rand(1..3).times do
      at = random.rand(text.bytesize + 1)
      case random.rand(4)
      when 0 then text = text.byteslice(0, at) + text.byteslice(at + 1..).to_s
      when 1 then text = text.dup.insert(at, PIECES.sample(random: random).b)
      when 2 then text.setbyte(at, random.rand(256)) if at < text.bytesize
      else text += text.byteslice(at, random.rand(1..20)).to_s
      end
    end
    text
  end
end
