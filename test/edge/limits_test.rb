# frozen_string_literal: true

require_relative "support/edge_case"

# godwit_memory and godwit_stall: code that needs too much memory, or too much time.
class EdgeLimitsTest < EdgeCase
  deadline 900

  # Path => code that needs too much memory. Only `bin/test --full` runs more than the first two.
  HOARDS = {
    "/large" => '"x" * 100_000_000',
    "/rescued" => <<~RUBY,
      begin
        loop { held << "x" * 1_000 }
      rescue Exception => error
        error.class
      end
    RUBY
    "/ensure" => <<~RUBY,
      begin
        loop { held << [held.size] }
      ensure
        begin
          loop { held << "x" * 1_000 }
        rescue NoMemoryError
          nil
        end
      end
    RUBY
    "/hash" => "loop { HASH[HASH.size] = [] }",
    "/redis" => "loop { held << REDIS.lrange('list', 0, -1) }",
    "/json" => "loop { held << JSON.parse(TEXT) }",
    "/text" => "loop { held << JSON.generate(LIST) }",
    "/symbols" => "loop { (held.size.to_s + 'x' * 9_999).to_sym; held << nil }",
    "/join" => "loop { held << Edge.join(-> { sleep 0; 'x' * 9_999 }, -> { 'y' * 9_999 }) }",
    "/fibers" => "loop { held << Fiber.new { Fiber.yield }.tap { |one| one.resume } }",
    "/eval" => "loop { held << eval(TEXT) }"
  }.freeze
  HOARDER = <<~RUBY
    REDIS = Edge::Redis.new(timeout: 60)
    LIST = Array.new(2_000) { |i| i }
    TEXT = JSON.generate(LIST)
    HASH = {}
    waits = false
    run ->(env) {
      held = []
      value = case env["PATH_INFO"]
      when "/wait"
        waits = true
        sleep 0.5
      when "/waits" then waits
      when "/fill" then LIST.each { |i| REDIS.rpush("list", i) }
      #{HOARDS.map { |path, code| "when #{path.inspect} then #{code}" }.join("\n")}
      end
      [200, {}, [value.class.to_s]]
    }
  RUBY
  NO_MEMORY = %(503 {"error":"memory"})

  test "a worker whose VM has no memory left finishes its requests, and is replaced" do
    server = hoarder
    done = false
    load = in_thread do
      found = []
      found << say(server.get("/", "Connection" => "close")) until done
      found
    end
    paths = Godwit::TestSupport::Length.of(HOARDS.keys.take(2), long: HOARDS.keys)
    paths.each do |path|
      before = server.workers
      waits = in_thread { say(server.get("/wait")) }
      eventually { server.get("/waits").body == "TrueClass" }
      answer = say(server.get(path))
      assert_equal (path == "/rescued") ? "200 Class" : NO_MEMORY, answer, path
      assert_equal "200 Integer", ended(waits), "beside #{path}"
      eventually("not replaced after #{path}") { (server.workers & before).empty? }
      assert_equal "200 NilClass", say(server.get("/")), "after #{path}"
    end
    done = true
    assert_empty ended(load).uniq - ["200 NilClass", NO_MEMORY]
    lines = server.log.lines.grep(/reached godwit_memory 16m/)
    assert_equal paths.size, lines.size
    assert_includes lines.first,
      "at #{server.path}:14; this worker finishes its requests and is replaced"
  ensure
    done = true
  end

  test "an app's file that needs too much memory answers 503, and costs one worker a second" do
    server = edge(<<~RUBY, conf: "godwit_memory 8m;")
      held = []
      loop { held << "x" * 1_000 }
    RUBY
    assert_equal %(503 {"error":"unavailable"}), say(server.get("/"))
    pattern = /:(\d\d) \[error\].*reached godwit_memory 8m at #{server.path}:2;/
    eventually { server.log.scan(pattern).size == 2 }
    refute_equal 1, server.log.scan(pattern).uniq.size, "two in a second"
  end

  test "sizes and seconds that make no sense are refused" do
    {
      "godwit_memory 7m" => "is a size of 8m or more, or off",
      "godwit_stall 10" => "is a number of seconds from 0.001 to 9, such as 0.1, or off",
      "godwit_memory off; godwit_stall off" => "test is successful"
    }.each do |conf, expected|
      server = EdgeServer.new(self, scratch_dir, self.class.built, {"/" => ""}, conf: "#{conf};")
      assert_includes server.check.first, expected, conf
    end
  end

  # Query => the number of the line of STALLER that runs too long.
  STALLS = {"loop" => 11, "fiber" => 12, "deep" => 6, "fifo" => 14}.freeze
  STALLER = <<~RUBY
    def deep(level)
      if level > 0
        deep(level - 1)
      else
        number = 0
        number += 1 until number %% 1_000 == 999 && File.exist?("%<ends>sdeep")
      end
    end
    run ->(env) {
      case env["QUERY_STRING"]
      when "loop" then loop { break if File.exist?("%<ends>sloop") }
      when "fiber" then Edge.join(-> { Fiber.new { 1 until File.exist?("%<ends>sfiber") }.resume })
      when "deep" then deep(500)
      when "fifo" then File.read("%<ends>sfifo")
      when "ever" then loop { nil }
      when "wait" then sleep 0.2
      end
      [200, {}, [env["edge.request_id"]]]
    }
  RUBY

  test "code that runs too long without a wait is logged with file:line, once" do
    ends = "#{scratch_dir}/ends-"
    File.mkfifo("#{ends}fifo")
    server = edge(format(STALLER, ends: ends), conf: "godwit_stall 0.05;")
    waited = server.get("/?wait").body
    stalls = STALLS.to_h { |kind, line|
      pattern = /\[warn\].* #{server.path}:#{line} has run for \d+ ms without a wait, .* (\w+)$/
      answer = in_thread { server.get("/?#{kind}") }
      eventually(kind) { server.log.match?(pattern) }
      File.write(ends + kind, "")
      [ended(answer).body, server.log.scan(pattern).flatten]
    }
    assert_equal stalls.keys.zip, stalls.values
    refute_match(/has run for [2-9]\d\d ms .*#{waited}/, server.log)
    refute_includes server.log, "epoll_wait"
  end

  if Godwit::TestSupport::Length.long?
    test "no allocation that meets the limit ends the worker with a signal" do
      server = hoarder
      last = "16m"
      60.times do |round|
        before = server.workers
        memory = 8 * 1024 * 1024 + round * 31_441
        server.configure { |conf| conf.sub("godwit_memory #{last};", "godwit_memory #{memory};") }
        last = memory
        server.reload
        eventually { server.workers.any? && (server.workers & before).empty? }
        HOARDS.keys.rotate(round).first(2).each do |path|
          assert_includes [NO_MEMORY, "200 Class", "200 NilClass"], say(server.get(path)),
            "#{path}, #{memory} bytes"
        end
      end
    end

    test "the signal comes anywhere in mruby, and ends no worker" do
      server = edge(<<~RUBY, conf: "godwit_stall 0.001; access_log off;")
        def deep(level) = (level > 0) ? deep(level - 1) : Array.new(2_000) { |i| i.to_s }
        run ->(env) {
          5.times { |i| Fiber.new { deep(rand(400) + i) }.resume }
          eval("[\#{(1..99).to_a.join(",")}].map { |i| i.to_s }")
          [200, {}, ["well"]]
        }
      RUBY
      before = server.workers
      command = [EdgePrograms.wrk, "--threads", "1", "--connections", "4", "--duration", "30",
        server.url]
      result = start_command(command, env: EdgePrograms.env(EdgePrograms.wrk)).finish
      assert_child(result)
      assert_equal before, server.workers
      lines = server.log.lines.grep(/without a wait/)
      assert_operator lines.grep(/app0.rb:\d/).size, :>=, lines.size * 0.9
    end

    test "after ten seconds without a wait the worker is killed and replaced" do
      server = edge(format(STALLER, ends: "/"), conf: "godwit_stall 5;")
      before = server.workers
      client = connection("/?ever")
      assert_predicate client, :closed_by_server?
      assert_equal "200", server.get("/").code
      assert_empty server.workers & before
      assert_match(/\[warn\].*app0.rb:15 has run for 5\d+ ms/, server.log)
      assert_match(/\[error\].*app0.rb:15 has run for 10\d+ ms .*: the worker is killed and repl/,
        server.log)
    end
  end

  private

  def hoarder
    server = edge(HOARDER, conf: "godwit_memory 16m; godwit_timeout 60s;",
      env: {"REDIS_URL" => redis.url})
    server.get("/fill")
    server
  end

  def say(response) = "#{response.code} #{response.body}"
end
