# frozen_string_literal: true

require_relative "support/mruby_case"

# Memory in use (RSS) may grow by at most 256 KiB over 100,000 messages, 1,000 sockets, 200 VMs.
# `rake mruby:long` sends ten million messages.
class MRubyMemoryTest < MRubyCase
  MESSAGES = Integer(ENV.fetch("GODWIT_MRUBY_MESSAGES", "100000"))

  deadline 600

  # Defines `flat(rounds) { }`. A fifth of the rounds runs before the first measurement, to warm up.
  FLAT = <<~'RUBY'
    LIMIT = 256 # KiB

    # Waits until at most `limit` KiB are in use, a second at most: libzmq's threads free some
    # memory late.
    def settled(limit)
      rss = nil
      20.times do
        rss = Host.rss
        break if rss <= limit
        Godwit::Poller.new.wait(0.05)
      end
      rss
    end

    def flat(rounds)
      (rounds / 5).times { |number| yield number }
      before = settled(0)
      rounds.times { |number| yield number }
      more = settled(before + LIMIT) - before
      puts "#{more} KiB more"
      check(more <= LIMIT, "#{more} KiB more")
    end
  RUBY

  SENT = FLAT + <<~RUBY
    pull = Godwit::PULL.bind("tcp://127.0.0.1:*", recv_hwm: 0)
    push = Godwit::PUSH.connect(pull.last_endpoint, send_hwm: 0)
    long = "x" * 2000
    flat(ARGV.first.to_i / 100) do |round|
      push.send_many([["message", round.to_s, long]] * 49)
      push << long
      push.send(["a", ""], timeout: 1)
      49.times { push << "text" }
      left = 100
      left -= pull.recv_many(50, timeout: 5).size while left > 50
      left.times { pull.recv(timeout: 5) }
    end
  RUBY

  OPENED = FLAT + <<~'RUBY'
    flat(500) do |number|
      Godwit::REP.bind("inproc://socket-#{number}") do |rep|
        req = Godwit::REQ.connect("inproc://socket-#{number}", linger: 0) # the collector closes it
        same("y", (req << "x") && rep.recv(timeout: 5) && (rep << "y") && req.recv(timeout: 5))
      end
      GC.start if number % 50 == 0
    end
  RUBY

  VMS = FLAT + <<~'RUBY'
    code = "pair = Godwit::PAIR.bind('inproc://vm'); $s = Godwit::PAIR.connect('inproc://vm'); " \
      "$s << 'x'; Godwit::Poller.new(pair).wait(5); pair.recv"
    flat(200) do
      vm = Host.open
      same('"x"', Host.run(vm, code))
      Host.close(vm)
    end
  RUBY

  # Runs three processes at the same time, which halves the duration on two cores.
  test "#{MESSAGES} messages; 1,000 sockets, closed and dropped; 200 VMs" do
    children = [SENT, OPENED, VMS].map do |program|
      start_host(program, MESSAGES, deadline: 90 + MESSAGES / 10_000)
    end
    children.each { |child| assert_done(child) }
  end
end
