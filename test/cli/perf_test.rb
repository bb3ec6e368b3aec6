# frozen_string_literal: true

require "test_helper"
require "fileutils"
require "json"
require "godwit/cli"
require "godwit/perf"
require "support/ports"

# `godwit perf serve|lat|thr|load|matrix`.
class CLIPerfTest < Godwit::TestCase
  MACHINE = /; godwit \d\S+, libzmq \d\S+, \w+ \d\S+, \d+ cores, \w+ \d+\.\d+$/

  # Runs `godwit perf` with a long time-out: on a loaded machine a separate server starts slowly.
  def godwit(part, *words)
    words += ["--timeout", 30] if %w[lat thr load].include?(part) && !words.include?("--timeout")
    run_line("perf", part, *words)
  end

  # @return [String] the endpoint of a server in this process. A measurement without an endpoint
  #   starts a separate server.
  def server
    @server ||= Godwit::Perf::Server.new("tcp://127.0.0.1:*").tap { |one| in_thread { one.run } }
    @server.last_endpoint
  end

  # @return [Array] the first line, and an Array of cells for each other line
  def table(*words)
    status, out, err = godwit(*words)
    assert_equal 0, status
    assert_empty err unless words.first == "load" # `load` reports a link that was too slow
    header, *rows = out.lines(chomp: true)
    assert_match MACHINE, header
    [header, *rows.map { |row| row.split(/ {2,}|(?<=B) /) }]
  end

  # @return [Array(Integer, Array<Hash>, String)] status, rows, errors of a measurement
  def json(*words)
    status, out, err = godwit(*words, "--json")
    [status, out.lines.map { |line| JSON.parse(line) }, err]
  end

  test "lat prints a row for each size, and a column for each percentile" do
    header, titles, *rows =
      table("lat", "--count", 1000, "--size", "0,100,1k", "--percentiles", "50,0,50,99,99.9")
    assert_match(/\AREQ-REP over tcp, connected in \S+ (?:us|ms), warm-up 1000 messages;/, header)
    assert_equal ["size", "round trips", "RTT p50", "p0", "p99", "p99.9", "max", "GC"], titles
    assert_equal [["0 B", "1,000"], ["100 B", "1,000"], ["1,024 B", "1,000"]],
      rows.map { |row| row.first(2) }
    rows.each do |row|
      assert_match(/\A\d[\d.]* (?:us|ms)\z/, row[2])
      refute_equal "-", row[4], "ten of 1,000 are longer than p99"
      assert_equal "-", row[5]
    end
  end

  test "thr prints what the receiver got" do
    header, titles, row =
      table("thr", "--count", "2k", "--size", "1k", "--batch", 100, "--zero-copy")
    assert_match(/\APUSH-PULL over tcp/, header)
    assert_equal ["size", "messages", "messages/s", "MB/s", "lost", "duplicated", "out of order",
      "GC"], titles
    assert_equal ["1,024 B", "2,000", "0", "0", "0"], row.values_at(0, 1, 4, 5, 6)
    rate, megabytes = row.values_at(2, 3).map { |text| Float(text.delete(",")) }
    assert_in_delta rate * 1024 / 1e6, megabytes, 0.06
  end

  test "load prints a row from the intended and one from the actual send" do
    _, titles, *rows = table("load", "--rate", "10k", "--count", 100)
    assert_equal %w[size from requested/s achieved/s], titles.first(4)
    assert_equal [["100 B", "intended", "10,000"], ["100 B", "actual", "10,000"]],
      rows.map { |row| row.first(3) }
  end

  test "load says that the link carried less than was asked for, and loses nothing" do
    rep = open_socket(:REP).bind("tcp://127.0.0.1:*")
    held = Thread::Queue.new
    count = 0
    in_thread do
      rep.serve do |message|
        held.pop if (count += 1) == 1_010 # the first 1,000 messages are the warm-up
        message
      end
    end
    measures = in_thread { json("load", rep.last_endpoint, *%w[--rate 10k --count 50]) }
    eventually { held.num_waiting == 1 }
    # The warm-up of this second load, 1,000 messages, takes 0.2 s. Meanwhile the REP holds a reply,
    # so the first load is late. A load's achieved rate excludes the time of its fastest reply.
    Godwit::Perf.load(server, rate: 5_000, count: 50)
    held << true
    status, rows, err = measures.value
    assert_equal [0, [[50, 0]] * 2],
      [status, rows.map { |row| row.values_at("sent", "timeouts") }]
    assert_operator rows.first["achieved_rate"], :<=, 50 / 0.1
    assert_match(%r{\Agodwit: the link carried \d+ of 10,000 messages/s$}, err)
  end

  # Starts a REP that echoes a number of messages and then closes. Returns its endpoint.
  def dying_echo(messages)
    rep = open_socket(:REP).bind("tcp://127.0.0.1:*")
    in_thread do
      messages.times { rep.send(rep.recv) }
      rep.close
    end
    rep.last_endpoint
  end

  test "a server that dies in the middle: the figures until then, its death, and status 1" do
    {["lat"] => {"count" => 200, "timeouts" => 1},
     %w[load --rate 2k] => {"sent" => 500, "timeouts" => 300}}.each do |command, figures|
      echo = dying_echo(1_200)
      status, rows, err = json(*command, echo, "--count", 500, "--timeout", 1, "--size", "100,1")
      assert_equal [1, {"size" => 100, **figures}],
        [status, *rows.map { |row| row.slice("size", *figures.keys) }.uniq], "no second size"
      assert_equal "godwit: no answer from #{echo} in 1 s: the server or its connection ended " \
        "during the measurement\n", err.lines.last
    end
    echo = dying_echo(1_001)
    status, out, = godwit("lat", echo, "--count", 500, "--timeout", 1, "--hgrm", path("h"))
    assert_equal [1, 3], [status, out.lines.size]
    assert_match(/Total count    = +1\]/, File.read(path("h")))
  end

  test "one JSON object a row, with seconds" do
    status, rows, = json("lat", server, "--count", 100, "--size", "1,2")
    assert_equal [0, [1, 2], [100, 100], [0, 0]],
      [status, *%w[size count timeouts].map { |key| rows.map { |row| row[key] } }]
    rows.each do |row|
      assert_kind_of Float, row["p50"]
      assert_nil row["p99"]
      assert_operator row["p50"], :<=, row["max"]
      assert_match(/\Atcp:/, row["endpoint"])
    end
    assert_equal [["intended", 10_000.0], ["actual", 10_000.0]],
      json("load", server, "--rate", "10k", "--count", 10)[1]
        .map { |row| row.values_at("from", "requested_rate") }
  end

  test "CSV has a line of names" do
    out = godwit("thr", server, "--count", 10, "--size", "1,2", "--csv")[1]
    names, *rows = out.lines(chomp: true).map { |line| line.split(",") }
    assert_equal %w[size received rate megabytes lost], names.first(5)
    assert_equal [%w[1 10], %w[2 10]], rows.map { |row| row.first(2) }
    assert_equal [names.size], rows.map(&:size).uniq
  end

  test "hgrm writes HdrHistogram's text format" do
    assert_equal 1, godwit("lat", "--count", 1, "--hgrm", path("no/h")).first, "it measures nothing"
    assert_equal 0, godwit("lat", server, "--count", 100, "--hgrm", path("h")).first
    lines = File.readlines(path("h"), chomp: true)
    assert_equal "       Value     Percentile TotalCount 1/(1-Percentile)", lines[0]
    assert_match(/\A +\d+\.\d{3} 0\.0{12} +\d+ +1\.00\z/, lines[2])
    assert_match(/\A +\d+\.\d{3} 1\.0{12} +100\z/, lines[-4])
    assert_match(/\A#\[Mean    = +\d+\.\d{3}, StdDeviation   = +\d+\.\d{3}\]\z/, lines[-3])
    assert_match(/\A#\[Max     = +\d+\.\d{3}, Total count    = +100\]\z/, lines[-2])
    assert_match(/\A#\[Buckets = +\d+, SubBuckets     = +2048\]\z/, lines[-1])
    values = lines[2..-4].map { |line| line.split.first(3).map(&:to_f) }
    assert_equal values.sort, values
  end

  test "plot draws a curve, in ASCII where the terminal is not UTF-8" do
    {"C.UTF-8" => /▇|█/, "C" => /\A[\x00-\x7f]+\z/}.each do |locale, expected|
      command = [*GODWIT, "perf", "lat", server, "--count", "200", "--plot"]
      child = start_command(command, env: {"LC_ALL" => locale})
      output = assert_child(child.finish).stdout.force_encoding("UTF-8")
      assert_match expected, output
      assert_match(/^RTT by percentile, 100 B, (?:us|ms)$/, output)
      assert_match(/^ +0 +90 +99 %$/, output)
    end
  end

  # @return [Array(Child, String)] a running `perf serve`, and its endpoint
  def serve(*options)
    server = start_command([*GODWIT, "perf", "serve", "tcp://:*", *options])
    (@servers ||= []) << server
    [server, server.wait_for(/serves at tcp.*\n/).stdout[/tcp:\S+/]]
  end

  test "a server by itself, and its end: 130 at Ctrl-C, 0 at SIGTERM, as `log serve`" do
    {INT: 130, TERM: 0}.each do |signal, status|
      server, endpoint = serve
      [%w[lat], %w[thr], %w[load --rate 20k]].each do |command|
        assert_equal 0, godwit(*command, endpoint, "--count", 10).first
      end
      result = server.signal(signal).finish
      assert_equal [status, ""], [result.status.exitstatus, result.stderr]
    end
  end

  test "keys: the clients in a directory alone may measure" do
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
    Dir.mkdir(path("clients"))
    %w[server anna stranger].each { |name| Godwit::Cert.new(name).save(scratch_dir) }
    FileUtils.cp(path("anna.key"), path("clients"))
    server, endpoint = serve("--keys", path("server.key_secret"), "--clients", path("clients"))
    known, unknown = %w[anna stranger].map do |name|
      ["--keys", path("#{name}.key_secret"), "--server-key", path("server.key")]
    end
    %w[lat thr].each { |part| assert_equal 0, godwit(part, endpoint, "--count", 10, *known).first }
    why = /: .* handshake .*this client's key/ unless RUBY_ENGINE == "jruby"
    says = /\Agodwit: no answer from #{endpoint} in 5 s#{why}/
    assert_fails(1, says, "perf", "lat", endpoint, "--timeout", 5, "--quiet", *unknown)
    assert_child server.signal(:TERM).finish
  end

  # @return [String] the endpoint of a new `perf serve --agent`
  def agent = serve("--agent").last

  def teardown
    @servers&.each { |child| child.signal(:TERM).finish unless child.finished? }
    @server&.close
    super
  end

  test "matrix prints a row for each pair" do
    hosts = %w[web1 database].map { |name| "#{name}=#{agent}" }
    status, out, err = godwit("matrix", *hosts, "--count", 200, "--label", "web1-database=Fiber")
    assert_equal [0, ""], [status, err]
    titles, *rows = out.lines(chomp: true).map { |line| line.split(/ {2,}/) }
    assert_equal ["Source", "Dest", "Connection", "Time", "Req-Rep/Sec", "RTT p50", "RTT p99"],
      titles
    assert_equal [%w[web1 web1 localhost], %w[web1 database Fiber],
      %w[database web1 localhost], %w[database database localhost]],
      rows.map { |row| row.first(3) }
    rows.each do |row|
      assert_match(/\A\d+\.\d{6}\z/, row[3])
      assert_in_epsilon 200 / Float(row[3]), Float(row[4]), 0.01
      assert_match(/\A\d[\d,.]* (?:us|ms)\z/, row[5])
    end
    row, = json("matrix", hosts.first, "--count", 5, "--size", "1k")[1]
    assert_equal ["web1", "web1", 5, 1024, nil, nil],
      row.values_at("source", "dest", "count", "size", "p99", "error")
    head, cells = godwit("matrix", hosts.first, "--count", 5, "--csv")[1].lines
    assert_equal row.keys, head.chomp.split(",")
    assert cells.start_with?("web1,web1,localhost,0.")
  end

  test "matrix: a host without an answer has a row with the reason, and the status is 1" do
    nobody = "tcp://127.0.0.1:#{Godwit::TestSupport::Ports.free}"
    status, out, err = godwit("matrix", "a=#{agent}", "b=#{nobody}", "--count", 10, "--timeout", 3)
    assert_equal [1, ""], [status, err]
    assert_match(/^b +- +no answer from #{nobody} in 3 s: .*connection refused at #{nobody}/, out)
    assert_match(/^a +a +localhost +0\.\d{6} /, out)
    assert_equal 3, out.lines.size
  end

  test "an agent's error can neither forge a row nor control the terminal" do
    error = "no\nb  b\r\e[31m\u009b1m\u202e,\"\t#{"x" * 1_000}"
    shown = 'no\nb  b\r\e[31m\u009b1m\u202e,"\t'
    rep = open_socket(:REP).bind("tcp://127.0.0.1:*")
    in_thread { rep.serve { Godwit::Perf::Server.command({"error" => error}) } }
    endpoint = rep.last_endpoint
    rows = [[], ["--csv"], ["--json"]].map do |format|
      status, out, = godwit("matrix", "a=#{endpoint}", *format)
      assert_equal [1, (format == ["--json"]) ? 1 : 2], [status, out.lines.size]
      assert_operator out.lines.last.size, :<, 600
      out.lines.last
    end
    assert_includes rows[0], shown
    assert_includes rows[1], shown.gsub('"', '""')
    assert_includes JSON.parse(rows[2])["error"], shown
    assert_equal 1, assert_fails(1, shown, "perf", "thr", endpoint).lines.size
  end

  test "wrong command lines have status 2, and name the value" do
    assert_usage_errors("perf",
      %w[lat --size -1] => "-1", %w[lat --size 1,x] => '"x"', ["lat", "--size", ""] => '""',
      ["lat", "--percentiles", ""] => '""', %w[lat --size 1g] => '"1g"',
      %w[lat --count 0] => '"0"', %w[lat --percentiles 50,101] => '"101"',
      %w[lat --time 0] => "0.0", %w[thr --batch 0] => '"0"', %w[load --count 5] => "--rate",
      %w[load --rate -5] => "-5", %w[lat --time 1 --count 5] => "give one",
      %w[lat --json --csv] => "give one",
      %w[load --rate 1 --json --plot] => "--json or --plot: give one",
      %w[lat --size 9000000000000M] => '"9000000000000M"',
      %w[lat --size 1,2 --hgrm x] => "one --size", %w[lat --keys x] => "need ENDPOINT",
      %w[lat a b] => "unexpected", %w[lat nowhere] => "no endpoint", %w[matrix] => "which hosts",
      %w[matrix tcp://:1] => "NAME=ENDPOINT", %w[matrix a=tcp://:1 a=tcp://:2] => "one name",
      %w[matrix a=ipc:///tmp/x] => "tcp://HOST:PORT",
      %w[matrix a=tcp://:1 --label b-a=x] => "b-a",
      %w[matrix a=tcp://:1 --label a] => "SOURCE-DEST",
      %w[matrix a=tcp://:1 --count 0] => '"0"', %w[matrix a=tcp://:1 --size -1] => "-1",
      %w[serve tcp://*:1 --agent] => "--insecure", %w[serve] => "which endpoint",
      %w[serve tcp://*:1] => "--insecure", %w[serve tcp://10.0.0.1:1 --keys x] => "--clients",
      %w[serve tcp://:1 --clients x] => "--keys", %w[thr --plot] => "invalid option")
  end
end
