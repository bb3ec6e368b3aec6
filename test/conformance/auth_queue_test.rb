# frozen_string_literal: true

require_relative "case"
require_relative "authenticated"

# How clients from one address share the Auth's workers with clients from other addresses.
class AuthQueueTest < Conformance::Case
  include Conformance::Authenticated

  MOST = Godwit::Auth.const_get(:RequestQueue)::MAX_PER_ADDRESS
  NEIGHBOUR = "127.0.0.2"

  def begun = @begun ||= Thread::Queue.new
  def held = @held ||= Thread::Queue.new

  # Sets a rule whose block waits for `held` when the client's name begins with "slow".
  def rule(**options)
    begun, held = self.begun, self.held
    auth(**options).plain do |name, _, _|
      begun << name
      held.pop if name.start_with?("slow")
      name
    end
  end

  def teardown
    held.close
    super
  end

  # While the only worker is busy, clients 1 and 2 ask from the address `one`, 3 from `other`.
  # @return [Array<String>] the names in the order in which their blocks began
  def order(one, other)
    ask("slow", address: "10.9.9.9")
    assert_equal "slow", next_begun
    {"1" => one, "2" => one, "3" => other}.each { |name, address| ask(name, address: address) }
    all_received
    held << nil
    4.times { reply }
    Array.new(3) { next_begun }
  end

  def next_begun = ended(in_thread { begun.pop })

  # Waits until the Auth has received all requests of {ask}. The Auth replies without a worker to
  # this later request from the same socket.
  def all_received
    @asking.send(["", "1.0", "all", "", "127.0.0.1", "", "NULL"])
    assert_equal "all", reply.first
  end

  def test_clients_of_one_address_leave_a_worker_to_the_others
    rule(workers: 2)
    3.times { |number| ask("slow#{number}") }
    assert_equal "slow0", next_begun
    assert_equal [200, "new"], zap_plain("new", "x", address: NEIGHBOUR)
    ask("slow of the neighbour", address: NEIGHBOUR)
    assert_equal ["new", "slow of the neighbour"], [next_begun, next_begun]
    2.times { held << nil }
    assert_equal "slow1", next_begun
  end

  def test_the_last_free_worker_goes_to_an_address_without_one
    rule(workers: 3)
    ask("slow a1")
    ask("slow a2")
    assert_equal ["slow a1", "slow a2"], [next_begun, next_begun].sort
    ask("slow a3")
    ask("slow b1", address: NEIGHBOUR)
    assert_equal "slow b1", next_begun
    ask("c1", address: "127.0.0.3")
    all_received
    held << nil # ends one block; the next block is c1's, since no worker serves c1's address
    assert_equal "c1", next_begun
  end

  # The last idle worker serves only an address for which no block runs. When a1's block ends, no
  # block runs for a2's address. So a2 may get the last idle worker, and b2 gets the other.
  def test_the_end_of_one_block_may_let_two_begin
    begun, held, first = self.begun, self.held, Thread::Queue.new
    auth(workers: 3).on_decision # no reports of decisions: each report would also wake a worker
    auth.plain { |name, _, _| begun << name && ((name == "a1") ? first : held).pop }
    3.times { |number| ask("x", address: "10.0.0.#{number}") && next_begun }
    3.times { (held << nil) && reply } # now three workers are idle
    {"a1" => "127.0.0.1", "b1" => NEIGHBOUR}.each do |name, address|
      ask(name, address: address)
      assert_equal name, next_begun
    end
    {"b2" => NEIGHBOUR, "a2" => "127.0.0.1"}.each { |name, address| ask(name, address: address) }
    all_received
    first << nil
    assert_equal %w[a2 b2], [next_begun, next_begun].sort
  end

  def test_addresses_take_turns
    rule(workers: 1)
    assert_equal %w[1 3 2], order("127.0.0.1", NEIGHBOUR)
    assert_equal %w[1 2 3], order("127.0.0.1", "127.0.0.1")
  end

  def test_what_counts_as_one_address
    rule(workers: 1)
    {
      "2001:db8::1" => "2001:db8::2:0:0:1", "::ffff:127.0.0.1" => "127.0.0.1",
      "fe80::1%eth0" => "fe80::2%eth0", "localhost:7:8:9" => "localhost:7:9:10"
    }.each { |one, other| assert_equal %w[1 2 3], order(one, other), "#{one} and #{other}" }
    {
      "2001:db8::1" => "2001:db8:0:1::1", "::ffff:127.0.0.1" => "::ffff:127.0.0.2",
      "localhost:7:8:9" => "localhost:8:8:9", "" => "x"
    }.each { |one, other| assert_equal %w[1 3 2], order(one, other), "#{one} and #{other}" }
  end

  def test_an_address_has_a_limited_number_of_clients_in_the_queue
    rule(workers: 1)
    ask("slow")
    next_begun
    said = warnings do
      MOST.times { |number| ask(number.to_s) }
      2.times { |number| ask("surplus#{number}") }
      assert_equal [["surplus0", 300], ["surplus1", 300]], [reply, reply]
      ask("new", address: NEIGHBOUR)
      zap
      held << nil
      replies = Array.new(MOST + 2) { reply }
      assert_equal [200], replies.map(&:last).uniq
      assert_includes replies.first(3).map(&:first), "new"
    end
    assert_includes said, "#{MOST} clients from 127.0.0.1 wait for a worker: more of them get a 300"
  end

  def test_clients_whose_time_is_over_leave_the_queue
    rule(workers: 1, timeout: 0.1)
    said = warnings do
      nil until ask("slow") && reply && !begun.empty? # the reply may precede the block of `rule`
      2.times do
        (MOST / 2 + 1).times { |number| ask(number.to_s) }
        (MOST / 2 + 1).times { assert_equal 300, reply.last }
      end
    end
    assert_empty said
  end
end
