# frozen_string_literal: true

require_relative "support/edge_case"

# How the values that an app returns become an HTTP answer.
class EdgeResponsesTest < EdgeCase
  # The app evaluates the code in the request's body, and returns the code's value as the answer.
  APP = <<~RUBY
    class Parts
      def initialize(parts) = @parts = parts
      def each(&block) = @parts.each(&block)
      def close = $closed = $closed.to_i + 1
    end
    run ->(env) { env["PATH_INFO"] == "/head" ? ANSWER : eval(env["rack.input"].read) }
  RUBY

  test "a header's value is a String, an Integer or an Array, a body an Array or has each" do
    server = edge(APP)
    answer = answer_to(server, <<~RUBY)
      [201, {"x-text" => "a b", "X-Number" => 12, "set-cookie" => ["a=1", "b=2", 3], "x-none" => [],
        "x-empty" => "", "x-long" => "y" * 20_000, "content-type" => "text/odd"},
        ["one", "", "two"]]
    RUBY
    assert_equal ["201", "onetwo", "6"], [answer.code, answer.body, answer["content-length"]]
    headers = {"x-text" => "a b", "x-number" => "12", "x-empty" => "", "content-type" => "text/odd"}
    assert_equal headers, headers.to_h { |name, _| [name, answer[name]] }
    assert_equal %w[a=1 b=2 3], answer.get_fields("set-cookie")
    assert_nil answer["x-none"]
    assert answer["x-long"] == "y" * 20_000, "a long header"
    {
      '[200, {}, Parts.new(["1", ", ", "2, ", "3"])]' => ["200", "1, 2, 3"],
      "[200, {}, [$closed.to_s]]" => ["200", "1"], "[404, {}, []]" => ["404", ""],
      "[299, {}, []]" => ["299", ""], "[301, {}, []]" => ["301", ""],
      "[418, {}, []]" => ["418", ""], "[599, {}, []]" => ["599", ""],
      '[200, {}, ["\0\xFF\r\n"]]' => ["200", "\0\xFF\r\n".b]
    }.each do |code, expected|
      answer = answer_to(server, code)
      assert_equal [*expected, expected[1].bytesize.to_s],
        [answer.code, answer.body.b, answer["content-length"]], code
    end
    answer = answer_to(server, '[302, {"location" => "/elsewhere"}, []]')
    assert_equal "/elsewhere", answer["location"]
    large = answer_to(server, '[200, {}, ["0123456789" * 300_000, "end"]]')
    assert_equal 3_000_003, large.body.bytesize
  end

  # Text of the log => invalid values that an app returns.
  WRONG = {
    "a body is" => ["nil", "42", "[]"],
    "status" => ["[199, {}, []]", "[600, {}, []]", "['200', {}, []]", "[200.5, {}, []]",
      "[2**40, {}, []]"],
    "headers are a Hash" => ["[200, nil, []]", "[200, [['a', 'b']], []]"],
    "a body is an Array" => ["[200, {}, nil]", "[200, {}, 'text']"],
    "a body has Strings" => ["[200, {}, [1]]", "[200, {}, [nil]]", "[200, {}, Parts.new([:a])]"],
    "a header's name is a String" => ["[200, {a: 'b'}, []]", "[200, {'' => 'b'}, []]"],
    "character that HTTP forbids" => ["[200, {'a b' => 'c'}, []]",
      "[200, {\"a\\r\\nb\" => 'c'}, []]", "[200, {\"a\\0\" => 'c'}, []]",
      "[200, {'é' => 'c'}, []]", "[200, {'a:' => 'c'}, []]"],
    "a header's value is" => ["[200, {'a' => nil}, []]", "[200, {'a' => 1.5}, []]",
      "[200, {'a' => :b}, []]", "[200, {'a' => [nil]}, []]"],
    "a header's Array has" => ["[200, {'a' => [['b']]}, []]"],
    "CR, LF or NUL" => ["[200, {'a' => \"b\\rc\"}, []]", "[200, {'a' => \"b\\nc\"}, []]",
      "[200, {'a' => \"b\\0c\"}, []]", "[200, {'a' => ['x', \"b\\nc\"]}, []]",
      "[200, {'content-type' => \"b\\nc\"}, []]"]
  }.freeze

  test "what is no answer gets 500, and the log says why" do
    server = edge(APP)
    WRONG.each do |why, codes|
      codes.each do |code|
        before = server.log.bytesize
        answer = answer_to(server, code)
        assert_equal ["500", %({"error":"internal"})], [answer.code, answer.body], code
        assert_match(/ResponseError: .*#{why}/, server.log.byteslice(before..), code)
      end
    end
  end

  test "what nginx writes and a wrong Content-Length are dropped, and logged once for each app" do
    server = edge({"/a/" => APP, "/b/" => APP})
    dropped = %w[Transfer-Encoding Connection Keep-Alive Date Server]
    headers = dropped.to_h { |name| [name, "mine"] }
    2.times do
      %w[/a/ /b/].each do |path|
        answer = server.post(path, "[200, #{headers.merge("x-kept" => "1").inspect}, ['abc']]")
        assert_equal ["200", "abc", "1"], [answer.code, answer.body, answer["x-kept"]]
        dropped.each { |name| refute_includes answer.get_fields(name).to_a, "mine", name }
        [0, 2, 4, -1, "x", "", "3 ", 2**60].each do |length|
          answer = server.post(path, "[200, {'Content-Length' => #{length.inspect}}, ['abc']]")
          assert_equal %w[200 abc 3], [answer.code, answer.body, answer["content-length"]]
        end
      end
    end
    warnings = server.log.lines.grep(/\[warn\]/)
    assert_equal 4, warnings.size
    %w[/a/ /b/].each do |path|
      assert_equal ["Content-Length", "dropped"],
        warnings.grep(/#{server.path(path)}/).map { |line| line[/Content-Length|dropped/] }.sort
    end
  end

  # A client would read the bytes of a body as the next answer on the connection.
  test "HEAD, 204 and 304 have no body" do
    server = edge(APP.sub("ANSWER", '[200, {"content-length" => "7", "etag" => "x"}, ["1234567"]]'))
    requests = ["HEAD /head HTTP/1.1\r\nHost: x\r\n\r\n"]
    [204, 304, 200].each do |status|
      code = %([#{status}, {"content-type" => "text/plain", "x-s" => #{status}}, ["1234567"]])
      requests << "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: #{code.bytesize}\r\n" \
        "#{"Connection: close\r\n" if status == 200}\r\n#{code}"
    end
    answers = server.raw(requests.join)
    assert_equal %w[200 204 304 200], answers.scan(%r{^HTTP/1.1 (\d+)}).flatten
    assert_equal 1, answers.scan("1234567").size
    assert answers.end_with?("\r\n\r\n1234567")
    assert_match(/\AHTTP.*?Content-Length: 7\r\n/m, answers)
    refute_match(/content-length/i, answers[/HTTP\/1.1 204.*?\r\n\r\n/m])
    empty = APP.sub("ANSWER", '[200, {"content-length" => "9"}, []]')
    answer = edge(empty).request(Net::HTTP::Head.new("/head"))
    assert_equal %w[200 9], [answer.code, answer["content-length"]]
  end

  # nginx must not answer 304 or 206 itself: it would compare the conditions of the request with
  # headers that the app has not set.
  test "conditions and ranges of a request are the app's matter" do
    server = edge('run ->(env) { [200, {"etag" => "\"1\""}, ["whole"]] }')
    {
      "If-Match" => "\"2\"", "If-None-Match" => "*",
      "If-Unmodified-Since" => "Thu, 01 Jan 1970 00:00:00 GMT",
      "If-Modified-Since" => "Fri, 01 Jan 2038 00:00:00 GMT", "Range" => "bytes=0-1"
    }.each do |name, value|
      answer = server.get("/", name => value)
      assert_equal %w[200 whole], [answer.code, answer.body], name
    end
  end

  test "nginx compresses an answer, and not one that the app has compressed" do
    server = edge(APP, server: "gzip on; gzip_min_length 1; gzip_types *;")
    gzip = {"Accept-Encoding" => "gzip"}
    headers = "{'content-type' => 'text/odd', 'content-length' => 4000}"
    plain = server.post("/", "[200, #{headers}, ['abcd' * 1000]]", gzip)
    assert_equal "gzip", plain["content-encoding"]
    assert_equal "abcd" * 1000, Zlib.gunzip(plain.body)
    packed = server.post("/", "[200, {'content-encoding' => 'br'}, ['abcd' * 1000]]", gzip)
    assert_equal ["br", "abcd" * 1000], [packed["content-encoding"], packed.body]
  end

  private

  def answer_to(server, code) = server.post("/", code)
end
