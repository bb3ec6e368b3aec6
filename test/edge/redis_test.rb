# frozen_string_literal: true

require_relative "support/edge_case"

# Edge::Redis, with a redis-server and with TCP servers of the tests.
class EdgeRedisTest < EdgeCase
  # `redis` is a connection to $REDIS_URL.
  APP = "def redis = $redis ||= Edge::Redis.new(timeout: 60)\n"

  test "URLs: AUTH, SELECT, unix sockets, percent-encoding" do
    store = redis
    evaluate
    ping = ->(url) { ask("Edge::Redis.new(#{url.inspect}, timeout: 5).call('PING')") }
    store.call("ACL", "SETUSER", "an@user", "on", ">p:a%s/ö", "~*", "+@all")
    store.call("CONFIG", "SET", "requirepass", "secret")
    place = "127.0.0.1:#{store.port}"
    [
      "redis://:secret@#{place}", "redis://:secret@localhost:#{store.port}/15",
      "redis://default:secret@#{place}/", "redis://an%40user:p%3Aa%25s%2F%C3%B6@#{place}/3",
      "unix://:secret@#{store.socket}?db=15", "unix://:secret@#{store.socket.gsub("r", "%72")}"
    ].each { |url| assert_equal "PONG", ping.call(url), url }
    {
      "redis://#{place}" => "CommandError: NOAUTH",
      "redis://:wrong@#{place}" => "ConnectionError: Redis at #{place}: WRONGPASS",
      "redis://:secret@#{place}/16" => "ConnectionError: Redis at #{place}: ERR DB index is out of",
      "unix://:wrong@#{store.socket}" => "ConnectionError: Redis at #{store.socket}: "
    }.each { |url, error| assert_operator ping.call(url), :start_with?, "Edge::#{error}", url }
    assert_includes @server.log, "Redis at #{place}: WRONGPASS"
    {
      "http://x" => "begins with", "rediss://x" => "TLS", "redis://" => "no host",
      "redis://x:0" => "port", "redis://x:1a" => "port", "redis://x/a" => "database",
      "redis://a@x" => "password", "unix://x" => "no path", "unix:///x?a=1" => "db=NUMBER",
      "redis://:%zz@x" => "%", "redis://:%@x" => "%"
    }.each do |url, why|
      assert_match(/ArgumentError: the URL of Redis .*#{Regexp.escape(why)}/, ping.call(url), url)
    end
    refute_includes ask("Edge::Redis.new('redis://:secret@#{place}').inspect"), "secret"
    assert_equal "1", ask("Edge::Redis.new('redis://:secret@#{place}/7').set(:a, 1);" \
      "Edge::Redis.new('unix://:secret@#{store.socket}?db=7').get('a')")
  end

  test "replies, commands as methods, and commands of many words" do
    store = redis
    evaluate(APP, env: {"REDIS_URL" => store.url})
    {
      "redis['a'] = 'x'; redis['a']" => "x", "redis['none']" => nil, "redis.call(:INCR, 'n')" => 1,
      "redis.set('f', 1.5)" => "OK", "redis.call('GET', 'f')" => "1.5",
      "redis.type('a')" => "string",
      "redis.eval('return {1, {2, false, \"x\"}}', 0)" => [1, [2, nil, "x"]],
      "redis.eval('return {ARGV[1]}', 0, 'y')" => ["y"], "redis.dump('none')" => nil,
      "redis.rpush('l', *(1..100).map(&:to_s))" => 100, "redis.lrange('l', 0, -1).size" => 100,
      "redis.lrange('none', 0, -1)" => [], "redis.exists('a', 'n', 'none')" => 2,
      "redis.set('b', \"\\0\\r\\n\"); redis.get('b') == \"\\0\\r\\n\"" => true,
      "redis.set('big', 'x' * 1_000_000); redis.get('big').size" => 1_000_000,
      "redis.call('incrby', 'big_number', 9_223_372_036_854_775_807)" => 9_223_372_036_854_775_807,
      "redis.getrange('a', 0, -1)" => "x",
      "redis.respond_to?(:getrange)" => true, "redis.respond_to?(:to_str)" => false,
      "{redis => 1}[redis]" => 1
    }.each { |source, value| assert_equal [value], [ask(source)], source }
    {
      "redis.no_command(1)" => /CommandError: ERR unknown command/,
      "redis.incr('l')" => /CommandError: WRONGTYPE/, "redis.get?('l')" => /NoMethodError/
    }.each { |source, error| assert_match error, ask(source) }
    ["redis.call", "redis.call(nil)", "redis.call(1)", "redis.get(nil)", "redis.get(['a'])",
      "redis.get(Object.new)"].each do |source|
      assert_match(/(Type|Argument)Error: /, ask(source), source)
    end
  end

  test "commands that would change or block the connection are refused" do
    store = redis
    evaluate(APP, env: {"REDIS_URL" => store.url})
    {
      "change" => %w[
        SUBSCRIBE PSUBSCRIBE SSUBSCRIBE UNSUBSCRIBE MONITOR MULTI EXEC DISCARD WATCH UNWATCH SELECT
        HELLO RESET AUTH QUIT
      ],
      "block" => %w[
        BLPOP BRPOP BRPOPLPUSH BLMOVE BLMPOP BZPOPMIN BZPOPMAX BZMPOP WAIT WAITAOF
      ]
    }.each do |why, names|
      names.flat_map { |name| [name, name.downcase, name.capitalize] }.each do |word|
        assert_match(/CommandError: #{word.upcase} is refused: it would #{why}/,
          ask("2.times { redis.call('PING') }; redis.call('#{word}', 'x', 1)"))
      end
    end
    {
      "redis.call('client', 'reply', 'off')" => "CLIENT is refused: REPLY",
      "redis.xread('Block', 0, 'STREAMS', 's', '$')" => "XREAD is refused: BLOCK",
      "redis.call(:xreadgroup, 'GROUP', 'g', 'c', :block, 0, 'STREAMS', 's', '>')" =>
        "XREADGROUP is refused: BLOCK",
      "redis.xreadgroup('GROUP', 'streams', 'c', 'BLOCK', 0, 'STREAMS', 's', '>')" =>
        "XREADGROUP is refused: BLOCK",
      "redis.subscribe('x')" => "SUBSCRIBE is refused", "redis.exec" => "EXEC is refused",
      "redis.wait(1, 0)" => "WAIT is refused", "redis.select(1)" => "SELECT is refused"
    }.each { |source, text| assert_includes ask(source), text }
    assert_equal [nil, nil], ask("[redis.xread('STREAMS', 'block', '0'), redis.client('getname')]")
  end

  test "ten commands of ten fibers leave in one write" do
    listener = TCPServer.new("127.0.0.1", 0)
    evaluate(APP, env: {"REDIS_URL" => "redis://127.0.0.1:#{listener.addr[1]}"})
    store = nil
    read = Thread::Queue.new
    in_thread do
      store = listener.accept
      loop do
        text = store.readpartial(65_536)
        read << text
        store.write("+OK\r\n" * text.scan("GET").size)
      end
    rescue IOError # includes EOFError
      nil
    end
    wanted = (0...10).map { |i| "*2\r\n$3\r\nGET\r\n$1\r\n#{i}\r\n" }.join
    2.times do
      assert_equal ["OK"] * 10, ask("Edge.join(*(0...10).map { |i| -> { redis.call(:GET, i) } })")
      assert_equal wanted, read.pop # in round 1 all fibers wait for the connection
      assert_empty read
    end
  ensure
    store&.close
    listener&.close
  end

  test "commands wait while connecting, and fail at once between two tries" do
    port = Godwit::TestSupport::Ports.free
    evaluate(APP, env: {"REDIS_URL" => "redis://127.0.0.1:#{port}"})
    # The client tries to connect again after a pause. During a pause a command fails at once.
    assert_equal ["Redis at 127.0.0.1:#{port}: Connection refused", 200], ask(<<~RUBY)
      begin
        redis.get("x")
      rescue Edge::ConnectionError => error
        LOG << error.message
        sleep 0.001
        retry if LOG.size < 200
      end
      [LOG.uniq.first, LOG.size]
    RUBY
    # Now a server listens. The command waits until the client has connected again.
    listener = own(TCPServer.new("127.0.0.1", port))
    waiting = connection
    store = ended(in_thread { listener.accept })
    waiting.ask("/", body: "redis.call('GET', 'x')")
    assert_equal "*2\r\n$3\r\nGET\r\n$1\r\nx\r\n", store.readpartial(100)
    store.write("$1\r\ny\r\n")
    assert_equal %("y"), waiting.answer.body
    # A command that waits for a reply fails when the server closes. The client connects again.
    waiting.ask("/", body: "redis.call('GET', 'x')")
    store.readpartial(100)
    store.close
    assert_match(/ConnectionError: Redis at 127.0.0.1:#{port}: Server closed/, waiting.answer.body)
    listener.accept.close
  end

  test "the pause between two tries is 50 ms, doubled up to 2 s" do
    listener = TCPServer.new("127.0.0.1", 0)
    times = Thread::Queue.new
    in_thread do
      loop do
        listener.accept.close
        times << monotonic
      end
    rescue IOError
      nil
    end
    evaluate("Edge::Redis.new('redis://:x@127.0.0.1:#{listener.addr[1]}')\n")
    count = Godwit::TestSupport::Length.of(4, long: 10)
    stamps = Array.new(count) { times.pop }
    pauses = stamps.each_cons(2).map { |one, other| other - one }
    pauses.zip([0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 2, 2, 2]) do |pause, least|
      assert_operator pause, :>=, least * 0.9
    end
  ensure
    listener&.close
  end

  test "a command that times out closes its connection, which ends the commands behind it" do
    store = redis
    evaluate(env: {"REDIS_URL" => store.url})
    ask("$slow = Edge::Redis.new(timeout: 0.2); $slow.call('PING')")
    store.freeze_process
    both = ask("Edge.join(*[0, 0.1].map { |s| -> { sleep s; outcome { $slow.get('x') } } })")
    assert_match(/Edge::TimeoutError: Redis at 127.0.0.1:#{store.port}: no answer in time/, both[0])
    assert_match(/Edge::ConnectionError: /, both[1]) # raised before this command's time-out
  end
end
