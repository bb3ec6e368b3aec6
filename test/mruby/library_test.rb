# frozen_string_literal: true

require "test_helper"
require_relative "../../rakelib/support/mruby_build"

# The library libmruby-godwit in a host program (host.c): VMs that share a process, their end, a
# fork, an allocator that fails.
class MRubyLibraryTest < Godwit::TestCase
  HOST = MRubyBuild.new.program("#{__dir__}/host.c").freeze
  # Seconds of a machine that does other work too.
  SLACK = 4

  # @return [Array<String>] the lines that the program printed
  def host(code)
    path = File.join(scratch_dir, "program.rb")
    File.write(path, code)
    result = start_command([HOST, path]).finish
    assert_predicate result, :success?, result.inspect
    assert_empty result.stderr
    result.stdout.lines(chomp: true)
  end

  test "VMs share the default context: inproc connects their sockets, also between threads" do
    assert_equal ["from VM 1", "from the main VM"], host(<<~RUBY)
      pull = Godwit::PULL.bind("inproc://main")
      in_vm(1, '$push = Godwit::PUSH.connect("inproc://main") << "from VM 1"')
      puts pull.recv(timeout: 5)
      in_thread('puts Godwit::PULL.bind("inproc://thread").recv(timeout: 5)') do
        $push = Godwit::PUSH.connect("inproc://thread") << "from the main VM"
      end
    RUBY
  end

  test "a VM closes its own sockets alone; the default context lives while a VM has it" do
    assert_equal ["true", "true", "still there"], host(<<~RUBY)
      pull = Godwit::PULL.bind("inproc://main")
      push = Godwit::PUSH.connect("inproc://main")
      in_vm(1, '$socket = Godwit::PUSH.connect("inproc://main"); Godwit.context.close')
      in_vm(1, 'puts $socket.closed?; puts Godwit.context.usable?')
      close_vm(1)
      push << "still there"
      puts pull.recv(timeout: 5)
    RUBY
  end

  test "mrb_close closes what is open, and waits at most linger and a second" do
    seconds = host(<<~RUBY).map { |line| Float(line) }
      in_vm(1, 'Godwit.context.linger = 0.2; Godwit::PUSH.connect("tcp://127.0.0.1:9") << "lost"')
      start = Godwit::Timeout.now
      close_vm(1)
      puts Godwit::Timeout.now - start
      in_vm(1, '$context = Godwit::Context.new(linger: 0.2); $push = $context.socket(:PUSH)')
      in_vm(1, '$push.connect("tcp://127.0.0.1:9"); $push << "lost"; $push = $context = nil')
      start = Godwit::Timeout.now
      close_vm(1)
      puts Godwit::Timeout.now - start
    RUBY
    assert_equal 2, seconds.size
    seconds.each { |time| assert_includes 0.19..(1.2 + SLACK), time }
  end

  test "mrb_close waits until a peer has the messages" do
    assert_equal ["2000", "m1999"], host(<<~RUBY)
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*", recv_hwm: 0)
      code = '$push = Godwit::PUSH.connect("ENDPOINT", send_hwm: 0)
        2000.times { |number| $push << "m\#{number}" }'
      in_vm(1, code.sub("ENDPOINT", pull.last_endpoint))
      close_vm(1)
      received = []
      received.concat(pull.recv_many(2000, timeout: 5)) while received.size < 2000
      puts received.size, received.last
    RUBY
  end

  test "in a forked child inherited objects raise ForkedError, and new ones work" do
    refused = Array.new(7, "Godwit::ForkedError")
    assert_equal [*refused, "from the child", "0", "parent"], host(<<~RUBY)
      def refused
        yield
        puts "no error"
      rescue Godwit::Error => error
        puts error.class
      end
      pull = Godwit::PULL.bind("inproc://here")
      push = Godwit::PUSH.connect("inproc://here")
      poller = Godwit::Poller.new(pull)
      context = Godwit.context
      status = in_child do
        refused { push << "x" }
        refused { pull.recv(timeout: 0) }
        refused { pull.linger }
        refused { pull.close }
        refused { poller.wait(0) }
        refused { context.close }
        refused { context.io_threads }
        pair = [Godwit::PULL.bind("inproc://here"), Godwit::PUSH.connect("inproc://here")]
        pair.last << "from the child"
        puts pair.first.recv(timeout: 5)
      end
      puts status
      push << "parent"
      puts pull.recv(timeout: 5)
    RUBY
  end

  # With the smallest n that a primitive survives, and what is left afterwards.
  test "the allocator fails at each call inside a primitive: nothing is lost, all stays usable" do
    lines = host(<<~RUBY)
      def survive(name)
        count = 0
        result = done = nil
        until done
          fail_after(count)
          begin
            result = yield
            done = true
          rescue NoMemoryError
            nil
          end
          fail_after(-1)
          count += 1
        end
        puts "\#{name} \#{count - 1}"
        result
      end

      pull = Godwit::PULL.bind("inproc://here", recv_hwm: 0)
      push = Godwit::PUSH.connect("inproc://here", send_hwm: 0)
      3.times { |number| push << ["a" * 100, "b" * 2000, number.to_s * 50] }
      push << "x" * 100_000
      puts survive("recv") { pull._try_recv }.map(&:size).inspect
      received = []
      while received.size < 3
        received += survive("recv_many") { pull._try_recv_many(10) }
      end
      puts received.map { |message| Array(message).last[0] }.inspect
      parts = ["a" * 100, "b" * 2000]
      survive("send") { push._try_send(parts) }
      survive("send_many") { push._try_send_many([parts], 0) }
      survive("poll") { Godwit::Backend::MRuby.poll([pull, 1, push, 2], 0) }
      survive("get") { pull._get_option(32) }
      survive("set") { pull._set_option(17, 0) }
      survive("keys") { Godwit::Backend::MRuby.curve_keypair(nil) }
      survive("socket") { Godwit::PAIR.new.close }
      survive("bind") { Godwit::PAIR.bind("tcp://127.0.0.1:*").close }
      survive("context") { Godwit::Context.new(linger: 0).close }
      puts pull.recv_many(10).size
    RUBY
    counts = lines.grep(/\A\w+ \d+\z/).to_h { |line| line.split }
    assert_operator Integer(counts["recv"]), :>, 2
    assert_operator Integer(counts["socket"]), :>, 10
    assert_includes lines, "[100, 2000, 50]"
    assert_includes lines, %w[1 2 x].inspect
    assert_equal "2", lines.last
  end

  test "memory does not grow with messages, sockets and VMs" do
    grown = host(<<~RUBY).map { |line| Integer(line) }
      def exchange(count)
        pull = Godwit::PULL.bind("inproc://\#{count}")
        push = Godwit::PUSH.connect("inproc://\#{count}")
        count.times do
          push << ["m" * 200, "n"]
          pull.recv
        end
        [pull, push].each { |socket| socket.close }
      end

      def open_sockets(count) = count.times { Godwit::PAIR.bind("tcp://127.0.0.1:*").close }

      def open_vms(count)
        count.times do
          in_vm(1, 'Godwit::PULL.bind("tcp://127.0.0.1:*")')
          close_vm(1)
        end
      end

      def grown(warm_up, count)
        yield warm_up
        GC.start
        before = resident
        yield count
        GC.start
        puts resident - before
      end
      grown(10_000, 100_000) { |count| exchange(count) }
      grown(2_000, 1_000) { |count| open_sockets(count) }
      grown(50, 200) { |count| open_vms(count) }
    RUBY
    assert_equal 3, grown.size
    grown.each { |kib| assert_operator kib, :<=, 256, grown.inspect }
  end
end
