# frozen_string_literal: true

require_relative "case"
require_relative "monitored"

# How to read a Monitor, how it ends, and the class Event.
class MonitorFormsTest < Conformance::Case
  include Conformance::Monitored

  under_gc_stress

  Monitor = Godwit::Monitor
  Event = Godwit::Monitor::Event

  # ---- methods that read events ----

  test "it is enumerable" do
    pull, monitor = monitored(:PULL)
    3.times { pull.bind(endpoint_for(:tcp)) }
    assert_equal pull.endpoints.first(2), monitor.first(2).map(&:endpoint)
    assert_equal [pull.last_endpoint], monitor.lazy.map(&:endpoint).first(1)
    each = monitor.each
    pull.bind(endpoint_for(:tcp))
    assert_equal :listening, each.next.name
    pull.close
    assert_equal :monitor_stopped, each.next.name
    assert_raises(StopIteration) { each.next }
    assert_same monitor, monitor.each { flunk }
  end

  test "a callback runs in a thread that survives its errors and ends with the socket" do
    pull = open_socket(:PULL)
    reported, failed = Queue.new, Queue.new
    note = ->(error, event) { failed << [error.message, event.name] }
    thread = pull.on_event(:listening, :monitor_stopped, on_error: note) do |event|
      reported << event.name
      raise "no" if event.name == :listening
    end
    pull.bind(endpoint_for(:tcp))
    assert_equal :listening, reported.pop
    assert_equal ["no", :listening], failed.pop
    pull.close
    assert thread.join(5), "the thread continues"
    assert_equal :monitor_stopped, reported.pop
    assert_empty failed
  end

  test "errors of a callback and of on_error are warned of" do
    pull = open_socket(:PULL)
    reported = Queue.new
    _, words = capture_io do
      threads = [pull.on_event(:listening) { reported << raise("oh no") },
        pull.on_event(:listening, on_error: ->(*) { raise "worse" }) { raise "bad" }]
      2.times { pull.bind(endpoint_for(:tcp)) }
      pull.close
      threads.each { |thread| assert thread.join(5), "the thread continues" }
    end
    assert_equal 2, words.scan("oh no").size
    assert_equal 2, words.scan(/on_error.*worse/).size
    assert_empty reported
  end

  # ---- the end of a monitor ----

  test "after the socket's close remaining events are returned, then the monitor is closed" do
    pull, monitor = monitored(:PULL)
    pull.bind(endpoint_for(:tcp))
    refute_predicate monitor, :closed?
    pull.close
    assert_predicate monitor, :closed?
    assert_equal %i[listening monitor_stopped], Array.new(2) { monitor.next_event.name }
    assert_named(Godwit::ClosedError, /next_event/, operation: :next_event) { monitor.next_event }
    assert_named(Godwit::ClosedError, /next_event/) { monitor.recv_nonblock(exception: false) }
    assert_empty monitor.to_a
    assert_nil monitor.close
    assert_named(Godwit::ClosedError, /monitor/, operation: :monitor) { pull.monitor }
    assert_match(/closed/, monitor.inspect)
  end

  test "closing it leaves the socket and others alone" do
    pull, monitor = monitored(:PULL)
    other = own_monitor(pull.monitor)
    waiting, each = in_thread { monitor.next_event }, in_thread { monitor.to_a }
    until_waiting(monitor, 2)
    assert_nil monitor.close
    assert_named(Godwit::ClosedError, /next_event/) { waiting.value }
    assert_empty each.value
    assert_nil monitor.close
    assert_predicate monitor, :closed?
    pull.bind(endpoint_for(:tcp))
    assert_equal :listening, other.next_event(timeout: 5).name
    other.close
    again = own_monitor(pull.monitor)
    pull.bind(endpoint_for(:tcp))
    assert_equal pull.last_endpoint, again.next_event(timeout: 5).endpoint
    assert_flows(open_socket(:PUSH).connect(pull.last_endpoint), pull)
  end

  # ---- events ----

  test "an event is frozen, shareable, comparable and matches patterns" do
    pull, monitor = monitored(:PULL)
    pull.bind(endpoint_for(:tcp))
    event = monitor.next_event(timeout: 5)
    assert Ractor.shareable?(event) if defined?(Ractor)
    assert_predicate event, :frozen?
    assert_equal Encoding::UTF_8, event.endpoint.encoding
    case event
    in {name: :listening, endpoint: /\Atcp:/ => endpoint, fd: Integer => fd, error: nil}
      assert_equal [pull.last_endpoint, event.value], [endpoint, fd]
    end
    assert_equal [:name], event.deconstruct_keys([:name, :unknown]).keys
    assert_equal event.deconstruct_keys(nil), event.to_h
    assert_equal "listening #{endpoint}: the socket is bound", event.to_s
    assert_match(/listening "tcp/, event.inspect)
    assert_equal event, Event.new(8, [fd], endpoint, event.local_endpoint, event.remote_endpoint)
    refute_equal event, Event.new(8, [fd + 1], endpoint)
    assert_equal 1, {event => 1}[event.dup]
  end

  test "each event has a text with its meaning" do
    Monitor::KINDS.each do |kind|
      event = Event.new(kind.bit, [0], "tcp://host:1")
      assert_equal kind.name, event.name
      assert_includes event.to_s, "#{kind.name} tcp://host:1: "
      refute_includes event.to_s, "\n"
    end
    assert_equal Monitor::EVENTS, Monitor::KINDS.sort_by(&:bit).map(&:name)
    assert_empty Monitor::FAILURES - Monitor::EVENTS
    errors = Monitor::PROTOCOL_ERRORS.values
    assert_equal errors.size, errors.map(&:first).uniq.size
  end

  test "the meaning of an event's value" do
    event = Event.new(0x0004, [1500], "tcp://host:1")
    assert_equal 1.5, event.interval
    assert_nil event.fd
    assert_equal "connect_retried tcp://host:1: the connection attempt failed; the next try " \
      "comes in 1.5 s",
      event.to_s
    event = Event.new(0x0800, [Errno::ECONNRESET::Errno], "")
    assert_instance_of Errno::ECONNRESET, event.error
    assert_equal %i[
      connect_delayed bind_failed accept_failed close_failed handshake_failed_no_detail
    ],
      Monitor::KINDS.filter_map { |kind| kind.name if Event.new(kind.bit, [1], "").error }
    assert_match(/reset/, event.to_s)
    assert_nil Event.new(0x0800, [0], "").error
    event = Event.new(0x2000, [0x1fffffff], "")
    assert_equal :unknown, event.protocol_error
    assert_match(/0x1fffffff/, event.reason)
    event = Event.new(0x4000, [201], "")
    assert_equal 201, event.status
    assert_match(/201/, event.reason)
    event = Event.new(1 << 20, [5, 6], "")
    assert_equal [:event_1048576, [5, 6], 5], [event.name, event.values, event.value]
    assert_match(/3 out, 4 in/, Event.new(0x1_0000, [3, 4], "").to_s)
  end

  test "without drafts libzmq names one end only" do
    # On a libzmq with drafts, MonitorDraftsTest tests the endpoints.
    return assert(Godwit.has?(:draft)) if Godwit.has?(:draft)
    pull, monitor = monitored(:PULL)
    pull.bind(endpoint_for(:tcp))
    event = monitor.next_event(timeout: 5)
    assert_equal [nil, nil], [event.local_endpoint, event.remote_endpoint]
    assert_named(Godwit::UnsupportedError, /ENABLE_DRAFTS/, operation: :pipes_stats) do
      monitor.pipes_stats
    end
  end
end

if Godwit.has?(:draft)
  # Tests of the fields that only the second version of libzmq's events has.
  class MonitorDraftsTest < Conformance::Case
    include Conformance::Monitored

    test "both ends of a connection are named, the endpoint as without drafts" do
      pull, ours = monitored(:PULL)
      push, theirs = monitored(:PUSH)
      pull.bind(endpoint_for(:tcp))
      push.connect(pull.last_endpoint)
      assert_flows(push, pull)
      accepted = until_event(ours, :accepted).last
      connected = until_event(theirs, :connected).last
      assert_equal pull.last_endpoint, accepted.local_endpoint
      assert_equal [pull.last_endpoint] * 3,
        [accepted.endpoint, connected.endpoint, connected.remote_endpoint]
      assert_equal accepted.remote_endpoint, connected.local_endpoint
      refute_equal accepted.remote_endpoint, accepted.local_endpoint
    end

    test "pipe statistics count the queued messages" do
      pull, monitor = monitored(:PULL)
      pull.bind(endpoint_for(:tcp))
      push = open_socket(:PUSH).connect(pull.last_endpoint)
      3.times { push << "x" }
      pull.recv(timeout: 5)
      stats = eventually do
        assert_same monitor, monitor.pipes_stats
        pull.events # libzmq answers pipes_stats in this call
        event = monitor.recv_nonblock(exception: false)
        event if event != :wait_readable && event.name == :pipes_stats
      end
      assert_equal 2, stats.values.size
    end
  end
end
