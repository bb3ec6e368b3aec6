# frozen_string_literal: true

require "zlib"
require_relative "support/edge_case"
require_relative "support/http2_client"

# Edge.stream: answers that a block writes while the client reads.
class EdgeStreamsTest < EdgeCase
  deadline 600

  TEXT = 16 * 1024 # bytes of each text that the app writes to a client of "/pour"
  TEXTS = 150
  POURED = (1..TEXTS).map { |number| number.to_s.rjust(TEXT) }.join
  # Bytes: more than the kernel stores for a client that does not read.
  MOST = 3 << 19

  APP = <<~RUBY
    #{NOTED}
    OUTS = []
    WRONG = {
      "text" => ->(out) { out << 1 },
      "data" => ->(out) { out.event(nil) },
      "name" => ->(out) { out.event("x", event: "a\\nb") },
      "cr" => ->(out) { out.event("x", event: "a\\rb") },
      "id" => ->(out) { out.event("x", id: "\\0") },
      "a fiber" => ->(out) { Fiber.new { out << "never" }.resume },
      "another's" => ->(out) { OUTS[0] << "never" },
      "no block" => ->(out) { Edge.stream("text/plain") }
    }
    WRITES = {
      "events" => ->(out) {
        out.event("plain").event("a\\nb\\r\\nc\\rd\\n", event: "lines", id: 7)
        out.event("", event: :empty, id: "") << ": a comment\\n\\n" << ""
      },
      "steps" => ->(out) {
        3.times do |step|
          sleep 0.005 while SAID["go"] % 3 < step
          out.event(step.to_s)
        end
      },
      "pour" => ->(out) {
        #{TEXTS}.times do |number|
          out << (number + 1).to_s.rjust(#{TEXT})
          SAID["poured"] = number + 1
        end
      },
      "large" => ->(out) { out << "large" * 300_000 },
      "same" => ->(out) { text = "x" * 65_536; 1_000.times { out << text; SAID["sames"] += 1 } },
      "two" => ->(out) {
        Edge.join(*["a", "b"].map { |name|
          -> { #{TEXTS}.times { |number| out << (name + (number + 1).to_s).rjust(8192) } }
        })
      },
      "wait" => ->(out) { sleep },
      "inside" => ->(out) { Edge.fetch("/slow") },
      "fetches" => ->(out) { 3.times { out << Edge.fetch("/events").body } },
      "late" => ->(out) { sleep 0.2; out << "late" },
      "join" => ->(out) { Edge.join(-> { sleep }, -> { #{TEXTS}.times { out << "x" * #{TEXT} } }) },
      "clean" => ->(out) { begin; sleep; ensure; sleep 0.05; end },
      "error" => ->(out) { out << "begun"; raise "an error" },
      "keep" => ->(out) { OUTS[0] = out; sleep },
      "wrong" => ->(out) {
        out << JSON.generate(WRONG.map { |name, call|
          begin
            [name, call.call(out).class.to_s]
          rescue StandardError => error
            [name, error.class.to_s]
          end
        }.to_h)
      }
    }
    run ->(env) {
      path = env["PATH_INFO"]
      name = path[1..]
      case path
      when "/said" then next [200, {}, [JSON.generate(SAID)]]
      when "/go"
        SAID["go"] += 1
        next [200, {}, []]
      when "/slow" then sleep
      when "/fetch"
        answer = Edge.fetch("/" + env["QUERY_STRING"])
        next [answer.status, {}, [answer.headers["content-type"], answer.body]]
      when "/length" then next Edge.stream("text/plain", headers: {"content-length" => 1}) {}
      when "/header" then next Edge.stream("text/plain", headers: {"x" => "a\\nb"}) {}
      when "/created" then next Edge.stream("text/plain", status: 201) { |out| out << "made" }
      when "/none" then next Edge.stream("text/plain", status: 204) { SAID["none"] += 1 }
      end
      Edge.stream("text/event-stream", headers: {"x-own" => "1"}) { |out|
        noted(name) { WRITES[name].call(out) }
      }
    }
  RUBY
  EVENTS = "data: plain\n\nevent: lines\nid: 7\ndata: a\ndata: b\ndata: c\ndata: d\ndata: \n\n" \
    "event: empty\nid: \ndata: \n\n: a comment\n\n"

  test "events leave as they are written, and the answer ends with the block" do
    edge(APP, conf: "gzip on; gzip_types text/event-stream;")
    one = connection("/events")
    assert_equal EVENTS, one.rest
    assert_match(%r{\AHTTP/1\.1 200 OK\r\n}, one.head)
    ["Content-Type: text/event-stream", "Transfer-Encoding: chunked", "x-own: 1",
      "cache-control: no-cache"].each { |line| assert_includes one.head, "#{line}\r\n" }
    refute_match(/content-length/i, one.head)
    one.ask("/created") # nginx has not closed the connection
    assert_equal "made", one.rest
    assert_match(/ 201 /, one.head)
    one.ask("/steps")
    assert_steps { one.chunk }
    assert_nil one.chunk
    unzip = Zlib::Inflate.new(31)
    one.ask("/steps", headers: "Accept-Encoding: gzip\r\n")
    assert_match(/^Content-Encoding: gzip/, one.head)
    assert_steps do
      text = +""
      text << unzip.inflate(one.chunk) while text.empty?
      text
    end
    assert_equal "", unzip.inflate(one.rest)
    old = @server.raw("GET /events HTTP/1.0\r\n\r\n")
    assert old.end_with?("\r\n\r\n#{EVENTS}"), old

    head = @server.raw("HEAD /none HTTP/1.1\r\nHost: x\r\n\r\nHEAD /events HTTP/1.1\r\n" \
      "Host: x\r\nConnection: close\r\n\r\n")
    assert_equal ["204", "200"], head.scan(%r{^HTTP/1\.1 (\d+)}).flatten
    refute_match(/^data/, head)
    assert_equal ["204", nil], @server.get("/none").then { |answer| [answer.code, answer.body] }
    assert_equal %w[500 500], %w[/length /header].map { |path| @server.get(path).code }
    assert_equal [nil, 2], said.values_at("none", "events") # neither HEAD nor 204 ran a block

    assert_equal "text/event-stream#{EVENTS}", @server.get("/fetch?events").body
    assert_equal EVENTS * 3, one.ask("/fetches").rest
    assert_equal "502", @server.get("/fetch?pour").code # a fetched answer has at most 1 MiB
    assert_includes @server.accesses, "200 /steps"
  end

  test "a stream may be a part of a page, before and behind others" do
    edge({"/" => APP}, server: <<~NGINX)
      location /page/ { ssi on; alias #{scratch_dir}/; }
      location /below/ { add_before_body /late; addition_types *; godwit_app app0.rb; }
    NGINX
    File.write("#{scratch_dir}/page.html", %w[late pour events].map { |name|
      %(<!--#include virtual="/#{name}" -->.)
    }.join)
    {"/page/page.html" => "late.#{POURED}.#{EVENTS}.", "/below/pour" => "late#{POURED}"}
      .each do |path, wanted|
        one = connection(path)
        one.head
        text = ended(in_thread { one.rest })
        assert text == wanted, "#{path}: #{text.bytesize} bytes of #{wanted.bytesize}"
      end
  end

  test "what a stream refuses, and an error of its block" do
    edge(APP)
    kept = connection("/keep")
    kept.head
    wrong = JSON.parse(ended(in_thread { connection("/wrong").rest }))
    expected = {
      "text" => "TypeError", "data" => "TypeError", "name" => "ArgumentError",
      "cr" => "ArgumentError", "id" => "ArgumentError", "a fiber" => "Edge::WaitError",
      "another's" => "Edge::Error", "no block" => "ArgumentError"
    }
    assert_equal expected, wrong
    one = connection("/error")
    assert_equal "begun", one.chunk
    assert_raises(EdgeConnection::Cut) { one.chunk }
    eventually { @server.log.include?("RuntimeError: an error (") }
    assert_match(/RuntimeError: an error \(#{@server.path}:\d+.*\), request id \h{32}/, @server.log)
    assert_equal [1, 2], said.values_at("RuntimeError", "ensure")
  end

  test "a stream waits for its client, and gives it all texts in their order" do
    edge(APP, listen: "sndbuf=128k")
    connection("/same").close
    eventually { said["ensure"] == 1 }
    before = @server.rss
    Array.new(10) { connection("/same") }
    assert_stops { said["sames"] }
    assert_operator said["sames"] * 65_536 / 11, :<, MOST
    grown = (@server.rss - before) * 1024 / 10
    assert_operator grown, :<, 3 * 65_536 unless ENV["GODWIT_EDGE_PRELOAD"]
    slow, two, large = %w[pour two large].map { |name| connection("/#{name}") }
    assert_stops { said["poured"] }
    assert_operator said["poured"], :<, TEXTS
    assert_poured ended(in_thread { slow.rest })
    assert ended(in_thread { large.rest }) == "large" * 300_000
    texts = ended(in_thread { two.rest }).scan(/.{8192}/m).map(&:strip)
    %w[a b].each do |name|
      assert_equal (1..TEXTS).map { |number| "#{name}#{number}" },
        texts.select { |text| text.start_with?(name) }
    end
    assert_equal [4, 1], said.values_at("ensure", "Edge::Cancelled")
  end

  test "a client that leaves, or takes nothing, ends its stream" do
    File.write("#{scratch_dir}/brief.rb", APP)
    edge(APP, listen: "sndbuf=128k", conf: <<~NGINX)
      server {
        listen 127.0.0.1:#{brief = Godwit::TestSupport::Ports.free} sndbuf=128k;
        send_timeout 50ms;
        godwit_timeout 100ms;
        location / { godwit_app #{scratch_dir}/brief.rb; }
      }
    NGINX
    ended = 0
    %w[wait pour join large].each do |name|
      leaving = Array.new(5) { connection("/#{name}").tap(&:head) }
      assert_stops { said["poured"] } if name == "pour"
      leaving.each(&:close)
      eventually { said["ensure"] == ended += 5 }
      assert_equal ended, said["Edge::Cancelled"]
    end
    refute_match(/\[error\]/, @server.log)

    late = connection("/late", port: brief) # godwit_timeout limits the time until the headers
    assert_equal "late", late.rest
    assert_match(%r{\AHTTP/1\.1 504 }, connection("/slow", port: brief).head)
    assert_match(%r{\AHTTP/1\.1 504 }, connection("/fetch?wait", port: brief).head)
    ended += 1
    eventually { said["Edge::Cancelled"] == ended }
    connection("/pour", port: brief)
    eventually { @server.log.include?("takes nothing") }
    eventually { said["Edge::Cancelled"] == ended + 1 }
  end

  test "over TLS, and over HTTP/2" do
    port = Godwit::TestSupport::Ports.free
    edge(APP, server: tls(port))
    %w[--http1.1 --http2].each do |version|
      curl = ->(path) { ["curl", "-sSNk", version, "https://127.0.0.1:#{port}#{path}"] }
      assert_equal EVENTS, Open3.capture2e(*curl["/events"]).first
      IO.popen(curl["/steps"]) do |output|
        assert_steps { output.gets("\n\n") }
        assert_nil ended(in_thread { output.read(1) })
      end
      assert_poured Open3.capture2e(*curl["/pour"]).first
      output, status = Open3.capture2e(*curl["/error"])
      assert_match(/\Abegun.*curl: /m, output)
      refute_predicate status, :success?
    end
  end

  test "a client of HTTP/2 decides how much a stream sends" do
    port = Godwit::TestSupport::Ports.free
    edge(APP, server: "listen 127.0.0.1:#{port} http2 sndbuf=128k;")
    narrow = HTTP2Client.new(port, window: 65_535)
    narrow.ask(1, "/pour")
    assert ended(in_thread { narrow.read(1, 65_535) }) == POURED[0, 65_535]
    assert_stops { said["poured"] }
    assert_equal 3, said["poured"]
    narrow.ask(3, "/error")
    assert_equal ["begun", :reset], ended(in_thread { narrow.answer(3) })
    narrow.ask(5, "/pour")
    narrow.read(5, 65_535)
    narrow.reset(5)
    eventually { said["Edge::Cancelled"] == 1 }
    narrow.allow(1)
    assert_poured(*ended(in_thread { narrow.answer(1) }))

    wide = HTTP2Client.new(port, window: 1 << 30)
    wide.ask(1, "/pour")
    eventually { said["pour"] == 3 }
    assert_stops { said["poured"] }
    wide.ask(3, "/said") # the client's socket is full, so the headers wait
    eventually { @server.accesses.last.end_with?("/said") }
    wide.ask(5, "/wait")
    eventually { said["wait"] == 1 }
    both = ended(in_thread { [1, 3].map { |id| wide.answer(id) } })
    assert_poured(*both[0])
    assert_equal :whole, both[1][1]
    assert_equal 3, JSON.parse(both[1][0])["pour"]
    wide.close
    eventually { said["Edge::Cancelled"] == 2 }
  ensure
    narrow&.close
  end

  test "a worker that ends ends its streams, as a whole answer each" do
    two = Godwit::TestSupport::Ports.free
    edge(APP, listen: "sndbuf=128k", server: "listen 127.0.0.1:#{two} http2;")
    [
      -> {
        old = @server.workers
        @server.reload
        eventually("the old worker has not ended") { (@server.workers & old).empty? }
      },
      -> { assert_predicate @server.stop, :success? }
    ].each do |ends|
      names = %w[wait pour join clean inside]
      streams = names.map { |name| connection("/#{name}") }
      streams.each(&:head)
      over_two = HTTP2Client.new(two)
      over_two.ask(1, "/wait")
      assert_stops { said["poured"] }
      eventually { said.values_at(*names).compact.sum == 6 }
      # nginx waits up to 5 s until a client has closed its connection.
      rests = streams.map { |one| in_thread { one.rest.tap { one.close } } }
      rests << in_thread { over_two.answer(1).tap { over_two.close } }
      ends.call
      wait, pour, join, clean, inside, framed = rests.map { |thread| ended(thread) }
      assert_equal ["", "", "", ["", :whole]], [wait, clean, inside, framed]
      assert POURED.start_with?(pour)
      assert_equal ["x", ""], [join[0], join.delete("x")]
    end
    refute_match(/\[error\]/, @server.log)
  end

  private

  # Compares without assert_equal, since a failure would print 2 MiB.
  def assert_poured(text, ending = :whole)
    assert_equal [POURED.bytesize, :whole], [text.bytesize, ending]
    assert text == POURED
  end

  # Asserts that each event arrives before the app writes the next event.
  def assert_steps
    3.times do |step|
      assert_equal "data: #{step}\n\n", ended(in_thread { yield })
      @server.get("/go")
    end
  end

  # Waits until the block gives the same number 20 times. The block sends a request to the worker.
  def assert_stops
    last = nil
    same = 0
    eventually do
      number = yield
      same = (number == last) ? same + 1 : 0
      last = number
      same == 20
    end
  end
end
