# frozen_string_literal: true

require_relative "../log/engines"
require "json"
require "socket"

# Silent members: their process lives, but does not report, for example because it is stopped.
class WorkSilentTest < Godwit::WorkCase
  include Engines

  def setup
    super
    not_on :kafka, "the brokers evict a member that sends no heartbeat, and not evict_after"
  end

  Work = Godwit::Work
  Listed = Work.const_get(:Listed)
  # A process that consumes the topic "in", and prints its records and events.
  CONSUMES = <<~RUBY
    require "godwit/work"
    Godwit::Work.connect("sqlite:\#{ARGV[0]}")
    class Copies < Godwit::Work::Consumer
      topic "in", partitions: 2, format: :text

      def perform(message)
        $stdout.syswrite("handles \#{message.value}\\n")
        $stdin.gets if message.value == "wait"
      end
    end
    Godwit::Work.on(:lost, :evicted) do |event|
      member = event[:member] || event[:partition]
      $stdout.syswrite("\#{event.name} \#{member} \#{event[:process]}\\n")
    end
    runner = Godwit::Work::Runner.new([Copies], workers: 2, evict_after: ARGV[1]&.to_f)
    Signal.trap(:TERM) { Thread.new { runner.stop } }
    runner.run
  RUBY

  def listed(silent, id: 7, group: "g")
    Listed.new(id, group, "t", 123, "host", nil, true, silent)
  end

  def watcher(evict_after = nil) = Work.const_get(:SilentProcesses).new(client.events, evict_after)
  def events = @seen ||= [].tap { |all| client.on(:silent, :evicted) { |event| all << event } }
  def owners = engine.positions("copies", engine.topics["in"]).map(&:member)

  # @return [Array<Listed>] the member, if a watcher in the group "g" evicts this member; else empty
  def check(watcher, member, now) = watcher.check([member], now, [%w[g t]])

  # Checks a silent member every half second, from 0 seconds up to this number of seconds.
  # @return [Array<Float>] the seconds at which the watcher evicts the member
  def evictions(watcher, seconds, **member)
    (0..seconds).step(0.5).reject { |at| check(watcher, listed(at, **member), at).empty? }
  end

  test "a process that has not reported for 5 s is an event, once" do
    seen = events
    one = watcher
    evictions(one, 4.5)
    assert_empty seen
    [5.0, 5.5].each { |at| check(one, listed(at), at) }
    assert_equal [{name: :silent, member: 7, group: "g", topic: "t", process: 123, host: "host",
                   seconds: 5, command: "godwit-work evict 7"}], seen.map(&:to_h)
    check(one, listed(0.1), 6.0)
    11.times { |index| check(one, listed(index / 2.0), 6.5 + index / 2.0) }
    assert_equal 2, seen.size
  end

  test "it is evicted after its time, and by members of its group alone" do
    assert_equal [60.0, 60.5], evictions(watcher(60), 60.5)
    assert_empty evictions(watcher, 120)
    one = watcher(60)
    found = (0..60).map do |at|
      one.check([listed(at, group: "copies"), listed(at, id: 8)], at, [%w[g t]]).map(&:id)
    end
    assert_equal [[], [8]], found.last(2)
  end

  test "a process that was frozen itself does not count that time" do
    seen = events
    one = watcher(60)
    check(one, listed(0.1), 0.0)
    assert_empty check(one, listed(1_000.0), 1_000.0) # all processes were frozen
    assert_empty check(one, listed(1_000.5), 1_000.5)
    assert_empty check(watcher(60), listed(1_000.0), 0.0) # a watcher's first check counts no time
    assert_empty seen
  end

  # Sets the time of the test process's last report to so many seconds ago.
  def silence(seconds)
    File.utime(Godwit::Timeout.now - seconds - 0.1, Time.now, wake_up.path)
  end

  test "doctor, groups, members and lag name it, and the command" do
    member = engine.join("g", topic("t", partitions: 2), wake_up.path, [0, 0])
    engine.rebalance(member)
    assert_empty client.doctor.findings
    process = {process: Process.pid, host: ::Socket.gethostname}
    with_clock do
      silence(12)
      finding = client.doctor.findings.first
      assert_equal({kind: :silent, group: "g", topic: "t", member: member.id, **process,
        seconds: 12}, finding.to_h.except(:text))
      assert_match(/\Aprocess #{Process.pid} on .*, member #{member.id} of group g, has not /,
        finding.text)
      assert_match(/reported for 12 s: .*`godwit-work evict #{member.id}`/, finding.text)
      assert_equal [12, process[:host], 1],
        [*client.members.first.to_h.values_at(:silent, :host), client.groups.first.silent]
      assert_match(/^process #{Process.pid} on .* has not reported for 12 s: .*evict #{member.id}`/,
        well("lag"))
      row = JSON.parse(well("lag", "--json").lines.first, symbolize_names: true)
      assert_equal({**process, silent: 12}, row.slice(:process, :host, :silent))
    end
  end

  test "neither reads nor writes of its FIFO are reports, nor a change of the clock" do
    silence(9)
    File.write(wake_up.path, "\0\0\0\0")
    wake_up.clear
    silent = -> { Work.const_get(:WakeUp).silent(wake_up.path).floor }
    assert_equal 9, silent.call
    with_clock(Godwit::TestSupport::ManualClock.new) do |clock|
      clock.advance(2)
      wake_up.report
      assert_equal 0, silent.call
      clock.advance(6)
      assert_equal 6, silent.call
    end
    assert_equal 0, Work.const_get(:WakeUp).silent("/nowhere/1-2")
  end

  test "a stopped process loses its partitions, and learns it when it goes on" do
    client.topic("in", partitions: 2, format: :text)
    frozen = start_child(CONSUMES, [path])
    eventually { owners.none?(&:nil?) && owners.uniq.size == 1 }
    client.produce("in", "wait", key: "k")
    frozen.wait_for(/^handles wait$/)
    member = owners.first
    frozen.signal(:STOP)
    other = start_child(CONSUMES, [path, "1.5"])
    other.wait_for(/^evicted #{member} #{frozen.pid}$/)
    other.wait_for(/^handles wait$/)
    frozen.signal(:CONT)
    frozen.wait_for(/^lost \d/)
    [frozen, other].each { |child| child.stdin.puts }
    eventually { client.members.map(&:partitions) == [1, 1] && client.groups.first.lag == 0 }
    [frozen, other].each { |child| assert_child child.signal(:TERM).finish }
  end
end
