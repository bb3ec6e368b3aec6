# frozen_string_literal: true

require "etc"
require_relative "support/edge_case"

# What HUP, QUIT and `nginx -t` do to apps and to requests in progress.
class EdgeReloadTest < EdgeCase
  # The app sleeps for as many seconds as the query says, then answers with a text.
  APP = <<~'RUBY'
    run ->(env) {
      sleep(env["QUERY_STRING"].to_f) unless env["QUERY_STRING"].empty?
      [200, {}, ["%s #{env["rack.input"].read}"]]
    }
  RUBY
  BROKEN = "run ->(env) {\n  [200, {}, [1 +]]\n}\n"

  test "a syntax error keeps the old app; nginx -t fails and names file:line" do
    server = edge(APP % "old")
    workers = server.workers
    server.write(BROKEN)
    output, status = server.check
    refute_predicate status, :success?
    assert_includes output, "#{server.path}:2: syntax error"
    expect_alerts # nginx logs an error in its configuration at level emerg
    server.reload
    eventually { server.log.include?("#{server.path}:2: syntax error") }
    assert_equal ["old ", workers], [server.get("/").body, server.workers]
    FileUtils.rm(server.path)
    assert_match(/#{server.path}.*cannot be read/, server.check.first)
    server.write(APP % "new")
    assert_predicate server.check.last, :success?
    server.reload
    eventually { server.get("/").body == "new " }
  end

  test "a file that raises keeps the old app, also for a later worker: a child runs it first" do
    store = redis
    counts = "Edge::Redis.new(timeout: 10).incr('runs')\n"
    app = counts + 'run ->(env) { [200, {}, ["old ", env["edge.request_id"].size.to_s]] }'
    server = edge(app, env: {"REDIS_URL" => store.url}, conf: "log_format x '$arg_a';")
    workers = server.workers
    server.write(<<~RUBY)
      #{counts.chomp}
      sleep(0.01)
      raise File.read("/proc/self/status").split("\\n").find { |line| line.start_with?("Uid") }
    RUBY
    FileUtils.chmod(0o711, [scratch_dir, server.folder])
    server.configure do |conf|
      conf.sub("$arg_a", "$arg_a $arg_b $arg_c").sub("user root;", "user nobody nogroup;")
    end
    server.reload
    eventually { server.log.include?("so the old configuration stays") }
    user = Process.uid.zero? ? Etc.getpwnam("nobody").uid : Process.uid
    assert_match(/RuntimeError: Uid: #{user} .* \(#{server.path}:3/, server.log)
    assert_equal [workers, "2"], [server.workers, store.call("GET", "runs")]
    server.write(app)
    Process.kill(:TERM, *workers)
    eventually { (server.workers - workers).size == 1 }
    assert_equal "old 32", server.get("/").body
    server.write(counts + APP % "new")
    server.reload
    eventually { server.get("/").body == "new " }
    eventually("the old worker has not ended") { server.workers.size == 1 }
    assert_equal "5", store.call("GET", "runs")
  end

  if Godwit::TestSupport::Length.long?
    test "a file that never ends keeps the old app after 10 s; QUIT waits until then" do
      server = edge(APP % "old", workers: 2)
      workers = server.workers
      killed = 0
      ["loop { nil }", "sleep"].each do |source|
        server.write(source)
        server.reload
        eventually { server.workers.size == 3 }
        assert_empty workers - server.workers
        assert_equal "old ", server.get("/").body
        Process.kill(:QUIT, server.pid) if source == "sleep"
        killed += 1
        eventually { server.log.scan("an app's file has not ended within 10 s").size == killed }
      end
    end
  end

  test "under load no request is lost while the app is reloaded" do
    server = edge(APP % 0, workers: 2)
    last = 0
    done = false
    answered = Thread::Queue.new
    clients = Array.new(8) {
      in_thread do
        found = []
        until done
          answer = server.post("/?#{rand(3) * 0.005}", "x" * rand(3), "Connection" => "close")
          found << [answer.code, answer.body.to_i]
          answered << true
        end
        found
      end
    }
    clients.size.times { answered.pop }
    Godwit::TestSupport::Length.of(4, long: 50).times do
      last += 1
      server.write(APP % last)
      server.reload
      eventually { server.get("/").body.to_i == last }
    end
    done = true
    answers = clients.flat_map { |thread| ended(thread) }
    assert_equal ["200"], answers.map(&:first).uniq
    assert_operator answers.size, :>, last
    assert_includes answers.map(&:last), 0
    eventually("old workers have not ended") { server.workers.size == 2 }
  end

  test "a worker that ends finishes its requests first, and closes idle connections" do
    store = redis
    server = edge(<<~RUBY, env: {"REDIS_URL" => store.url}, server: "godwit_timeout 60s;")
      taken = 0
      store = Edge::Redis.new(timeout: 60)
      peer = Edge::ZMQ.new("tcp://127.0.0.1:1", timeout: 1)
      rep = Godwit::REP.bind("tcp://127.0.0.1:*")
      run ->(env) {
        next [200, {}, [taken.to_s]] if env["PATH_INFO"] == "/taken"
        taken += 1
        case env["PATH_INFO"]
        when "/sleep" then sleep(1)
        when "/fetch" then Edge.fetch("/sleep")
        when "/redis" then store.call("EVAL", "local n = 0; for i = 1, 1e7 do n = n + i end", "0")
        when "/peer" then peer.request("x")
        when "/recv" then rep.recv(timeout: 1, exception: false)
        when "/body" then env["rack.input"].read
        end
        [200, {}, ["done"]]
      }
    RUBY
    old = server.workers
    idle = connection("/")
    assert_equal "done", idle.answer.body
    begun = connection # only half of this request arrives before HUP
    begun.write("POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\na")
    paths = %w[/sleep /peer /recv /redis /fetch]
    requests = paths.map { |path| connection(path) }
    eventually { server.get("/taken").body == "7" } # "/", the 5 paths, and the /sleep of /fetch
    server.write('run ->(env) { [200, {}, ["new"]] }')
    server.reload
    assert ended(in_thread { idle.closed_by_server? }), "an idle connection stays open"
    eventually { server.get("/").body == "new" }
    begun.write("b")
    # nginx waits up to 5 s until a client has closed its connection.
    [*requests, begun].zip([*paths, "/body"]) do |socket, path|
      expected = (path == "/peer") ? %({"error":"bad_gateway"}) : "done"
      assert_equal expected, ended(in_thread { socket.answer }).body, path
      socket.close
    end
    eventually("the old worker has not ended") { (server.workers & old).empty? }
    assert_equal 1, server.workers.size
  end

  test "QUIT ends nginx after its last request, beside an app's file that has raised" do
    server = edge({"/" => APP % "last", "/raises/" => "raise 'again'"})
    request = connection("/?0.5")
    eventually { server.get("/raises/").code == "503" }
    Process.kill(:QUIT, server.pid)
    assert_equal "last ", ended(in_thread { request.answer }).body
    assert_predicate server.stop, :success?
  end

  test "QUIT does not wait for the reply to a command whose client has left" do
    silent = own(TCPServer.new("127.0.0.1", 0))
    server = edge(<<~RUBY, env: {"REDIS_URL" => "redis://127.0.0.1:#{silent.addr[1]}"})
      REDIS = Edge::Redis.new(timeout: 600)
      run ->(env) { REDIS.get("x") }
    RUBY
    client = connection("/")
    accepted = own(silent.accept)
    accepted.readpartial(1)
    client.close
    eventually { server.accesses == ["499 /"] }
    Process.kill(:QUIT, server.pid)
    eventually("the worker waits on") { accepted.read_nonblock(100, exception: false).nil? }
    assert_predicate server.stop, :success?
  end
end
