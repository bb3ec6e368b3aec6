# frozen_string_literal: true

require "test_helper"
require "godwit/logger"

# Godwit.metrics, read by a strict parser. The text also has the counts of other tests' sockets.
class MetricsTest < Godwit::TestCase
  NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*/
  LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^\\"\n]|\\[\\"n])*)"/
  SAMPLE = /\A(#{NAME})(?:\{(#{LABEL}(?:,#{LABEL})*)\})? (-?\d+(?:\.\d+)?)\z/
  UNESCAPED = {"\\n" => "\n", "\\\\" => "\\", "\\\"" => "\""}.freeze

  # A strict parser of Prometheus' text format 0.0.4, limited to what Godwit writes.
  # @return [Hash{Array(String, Hash) => Float}] name and labels => value
  def parse(text)
    assert text.valid_encoding? && text.end_with?("\n"), text
    helped, types, series, current = {}, {}, {}, nil
    text.each_line("\n", chomp: true) do |line|
      case line
      when /\A# HELP (#{NAME}) (?:[^\\]|\\[\\n])+\z/o
        refute helped[$1], "a second family: #{line}"
        helped[current = $1] = true
      when /\A# TYPE (#{NAME}) (counter|gauge)\z/o
        assert current == $1 && !types[$1] && ($2 == "counter") == $1.end_with?("_total"), line
        types[$1] = $2
      when SAMPLE
        name, pairs, value = $1, $2.to_s, Float($~[-1])
        labels = pairs.scan(LABEL).map { |key, raw| [key, raw.gsub(/\\./, UNESCAPED)] }
        assert name == current && types[name], "of another family: #{line}"
        assert_equal labels.to_h.size, labels.size, "a label twice: #{line}"
        refute series[[name, labels.to_h]], "a series twice: #{line}"
        series[[name, labels.to_h]] = value
      else flunk line.inspect
      end
    end
    series
  end

  # @return [Hash{String => Numeric}] "NAME TYPE" or "NAME SIDE" => value, for the series that have
  #   the label `value`
  def metrics(value)
    text = Godwit.metrics
    assert_equal Encoding::UTF_8, text.encoding
    series = parse(text)
    series.select { |(_, labels), _| labels.value?(value) }.transform_keys do |name, labels|
      [name, *labels.slice("type", "side").values].join(" ")
    end
  end

  # @return [Array] numbers of sockets of this type, of their messages and of their bytes, from the
  #   series of the endpoint `name`
  def counts(name, type, verb)
    metrics(name).values_at("godwit_sockets #{type}",
      "godwit_socket_#{verb}_messages_total #{type}", "godwit_socket_#{verb}_bytes_total #{type}")
  end

  test "sockets of one type and endpoint are one series, and closed ones stay in it" do
    name = endpoint_for(:inproc)
    Godwit.metrics
    pull = open_socket(:PULL).bind(name)
    pushes = Array.new(3) { open_socket(:PUSH).connect(name) << "abc" }
    3.times { pull.recv }
    assert_equal [3, 3, 9], counts(name, "PUSH", "sent")
    assert_equal [1, 3, 9], counts(name, "PULL", "received")
    last = metrics(name).fetch("godwit_socket_last_activity_timestamp_seconds PULL")
    assert_in_delta Time.now.to_i, last, 60

    pushes.shift.close
    pushes.last << "d"
    2.times { assert_equal [2, 4, 10], counts(name, "PUSH", "sent") }
    pushes.each(&:close).clear
    GC.start
    assert_equal [nil, 4, 10], counts(name, "PUSH", "sent")
  end

  test "proxies, loggers, and labels with every special character" do
    path = File.join(scratch_dir, "a \"quoted\" \\ \n\xFF path".b)
    socket = open_socket(:PULL)
    socket.bind("ipc://#{path}")
    shown = "ipc://#{path.dup.force_encoding("UTF-8").scrub}"
    assert_equal 1, metrics(shown).fetch("godwit_sockets PULL")

    front, back = Array.new(2) { endpoint_for(:inproc) }
    proxy = own(Godwit::Proxy.streamer(front, back, context: context)).start
    open_socket(:PUSH).connect(front) << "abc"
    assert_equal "abc", open_socket(:PULL).connect(back).recv(timeout: 5)
    # The proxy counts a message after its send: the PULL may receive the message earlier.
    eventually { metrics(back)["godwit_proxy_sent_bytes_total backend"] == 3 }
    assert_equal [1, 0], metrics(back).values_at("godwit_proxy_received_messages_total frontend",
      "godwit_proxy_dropped_messages_total")
    proxy.close

    pull = open_socket(:PULL).bind("tcp://127.0.0.1:*")
    log = own(Godwit::Logger.new(pull.last_endpoint, linger: 0))
    2.times { log.info("x") }
    assert log.flush(timeout: 5)
    assert_equal({"queued_records" => 0, "spooled_records" => 0, "sent_records_total" => 2,
                  "dropped_records_total" => 0}.transform_keys { |name| "godwit_logger_#{name}" },
      metrics(pull.last_endpoint).select { |name, _| name.start_with?("godwit_logger") })
  end

  # Stands for a closed socket: it has the methods that Metrics calls. The type CLOSED separates its
  # series from the series of other tests' sockets.
  Closed = Struct.new(:type, :endpoints, :stats) do
    def forked? = false
  end

  test "the series of closed sockets are bounded: those of further sockets are added up" do
    metrics = Godwit.const_get(:Metrics).new
    stats = Godwit::Socket::Stats.new(sent: 1, sent_bytes: 2, received: 0, received_bytes: 0)
    1_010.times { |number| metrics.closed(Closed.new(:CLOSED, ["tcp://h:#{number}"], stats)) }
    again = Closed.new(:CLOSED, ["tcp://h:1"], stats)
    2.times { metrics.closed(again) }
    sums = metrics.to_s.scan(/sent_messages_total\{type="CLOSED",endpoint="(.*)"\} (\d+)/).to_h
    assert_equal 1_001, sums.size
    assert_equal %w[1 2 10], sums.values_at("tcp://h:0", "tcp://h:1", "others")
  end

  test "two threads' first calls make one Metrics" do
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      begun, made = Thread::Queue.new, 0
      Godwit.const_get(:Metrics).define_singleton_method(:new) do
        made += 1
        2.times { begun.pop } # both threads are about to call
        begun.close
        10.times { Thread.pass }
        super()
      end
      Array.new(2) { Thread.new { (begun << true) && Godwit.metrics } }.each(&:join)
      puts made
    RUBY
    assert_equal "1\n", result.stdout
  end

  test "a compaction survives an object that was added to a WeakSet again and again" do
    skip "this Ruby cannot compact" unless GC.respond_to?(:verify_compaction_references)
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      set = Godwit.const_get(:WeakSet).new
      objects = Array.new(40) { Object.new }
      objects.each_with_index { |object, index| (index + 1).times { set.add(object) } }
      GC.verify_compaction_references(toward: :empty)
      p set.to_a.size, objects.all? { |object| set.include?(object) }
    RUBY
    assert_equal %w[40 true], result.stdout.split
  end

  test "a forked child begins anew; a socket closed by its context, or in a trap handler, stays" do
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      Godwit.metrics
      context = Godwit::Context.new(linger: 0)
      sockets = Array.new(2) do
        Godwit::PUSH.connect("tcp://127.0.0.1:1", context: context) << "x"
      end
      trap("USR1") { sockets.first.close }
      Process.kill(:USR1, Process.pid)
      context.close
      sent = -> { Godwit.metrics[/^godwit_socket_sent_messages_total.* (\\d+)$/, 1] }
      p sent.call, sent.call
      $stdout.flush
      Process.wait(fork { p sent.call, Godwit.metrics })
    RUBY
    assert_equal %w["2" "2" nil ""], result.stdout.split
  end
end
