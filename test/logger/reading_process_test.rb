# frozen_string_literal: true

require "test_helper"
require_relative "made_records"
require_relative "../process/forking"

# Forks, signals and exits of processes that have a reader or a broadcaster.
class LoggerReadingProcessTest < Godwit::TestCase
  include Godwit::TestSupport::Forking
  include MadeRecords

  WIRE = <<~RUBY
    $LOAD_PATH.unshift(#{__dir__.inspect})
    require "made_records"
    include MadeRecords
  RUBY

  test "in a child a reader raises, and leaves the parent's reader and its state file alone" do
    not_on :ffi, "a forked child cannot use it"
    assert_done <<~RUBY
      #{WIRE}
      file = #{File.join(scratch_dir, "state").inspect}
      reader = Godwit::Logger::Reader.new("tcp://127.0.0.1:*", state: file)
      push = Godwit::PUSH.connect(reader.last_endpoint)
      5.times { |i| push.send(frames(i + 1)) }
      reader.recv(timeout: 5)
      in_child do
        forked { reader.recv(timeout: 1) } && forked { reader.each { } } &&
          forked { reader.close } && reader.inspect
      end
      in_child do
        Godwit::Logger::Reader.new("tcp://127.0.0.1:*") do |own|
          own.recv(timeout: 0, exception: false)
        end
        true
      end
      abort "a child wrote" if File.exist?(file)
      abort unless reader.first(4).map(&:seq) == [2, 3, 4, 5]
      pid = nil
      Godwit::Logger::Reader.new("tcp://127.0.0.1:*") { pid = fork }
      Godwit::Logger::Broadcaster.new("tcp://127.0.0.1:*") { pid &&= fork }
      exit!(0) unless pid
      statuses = Process.waitall.map { |_, status| status.exitstatus }
      abort "a child that left the block: \#{statuses}" unless statuses == [0, 0]
      reader.close
      abort unless File.exist?(file)
    RUBY
  end

  test "in a child a broadcaster raises, and the parent's keeps running" do
    not_on :ffi, "a forked child cannot use it"
    assert_done <<~RUBY
      #{WIRE}
      got = []
      sink = Object.new
      sink.define_singleton_method(:write) { |records| got.concat(records) }
      any = "tcp://127.0.0.1:*"
      relay = Godwit::Logger::Broadcaster.new(any, nil, control: any, sink: sink).start
      control = Godwit::Logger::Control.new(relay.control.first)
      push = Godwit::PUSH.connect(relay.input.first)
      calls = %i[stop close statistics last start].map { |name| relay.method(name) }
      3.times do |round|
        push.send(frames(round + 1))
        in_child do
          [*calls, control.method(:statistics)].each { |call| forked(&call) } && !relay.running?
        end
      end
      Thread.pass until control.statistics["records"] == 3
      relay.close
      abort unless got.map(&:seq) == [*1..3]
    RUBY
  end

  test "a process ends while they run, without a word" do
    result = assert_child(run_child(<<~RUBY))
      require "godwit"
      #{WIRE}
      any = "tcp://127.0.0.1:*"
      sink = Object.new
      def sink.write(_) = nil
      relay = Godwit::Logger::Broadcaster.new(any, any, control: any, sink: sink).start
      reader = Godwit::Logger::Reader.subscribe(relay.output.first)
      Thread.new { reader.each { } }
      push = Godwit::PUSH.connect(relay.input.first, linger: 0.05) # 0 could abort: docs/limits.md
      Thread.new { (1..).each { |i| push.send(frames(i)) } }
      Thread.pass until reader.received > 100
      puts "done"
    RUBY
    assert_equal ["done\n", ""], [result.stdout, result.stderr]
  end

  test "a reader is killed: the next reader's statistics balance, and miss no loss" do
    file = File.join(scratch_dir, "state")
    # The endpoint is ipc: another process could take a port before the next reader binds it.
    endpoint = endpoint_for(:ipc_file)
    push =
      open_socket(:PUSH, linger: 0.05, send_hwm: 100, reconnect_interval: 0.01).connect(endpoint)
    seq = 0
    stop = false
    sender = in_thread { push.send(frames(seq += 1), timeout: 20) && Thread.pass until stop }
    program = <<~RUBY
      require "godwit"
      Godwit::Logger::Reader.new(#{endpoint.inspect}, state: #{file.inspect}) do |reader|
        reader.each do |record|
          next unless (record.seq % 100).zero?
          puts(reader.writers.first.to_h.values_at("received", "lost").inspect)
        end
      end
    RUBY
    child = start_child(program).wait_for(/\[\d+, \d+\]/)
    eventually { File.exist?(file) }
    child.signal(:KILL).finish
    reader = own(Godwit::Logger::Reader.new(endpoint, state: file, context: context))
    known = reader.writers.first
    assert_equal [1, known.last], [known.first, known.received + known.lost]
    200.times { reader.recv(timeout: 10) }
    stop = true
    account = reader.writers.first
    assert_equal account.last, account.received + account.lost
    assert_equal [0, known.received + 200], [account.late, account.received]
    reader.close
    sender.join(5)
    saved = JSON.parse(File.read(file))["writers"].fetch(MadeRecords::WRITER)
    assert_equal [account.last, account.received], saved.values_at("last", "received")
  end
end
