# frozen_string_literal: true

require_relative "case"
require_relative "authenticated"

# Blocks of rules: their allowed results, and the reply that a client gets when the block raises, is
# slow or ends its thread.
class AuthBlocksTest < Conformance::Case
  include Conformance::Authenticated

  LATER = [300, ""].freeze
  NO = [400, ""].freeze

  def asked(name) = zap_plain(name, "Swordfish")

  def test_a_block_returns_a_user_id_or_nil
    ids = {
      "id" => "anna", "nobody" => nil, "umlaut" => "Jürgen", "binary" => "J\xC3\xBCrgen".b,
      "longest" => "x" * 255, "latin" => "Jürgen".encode("ISO-8859-1")
    }
    auth.plain { |name, _, _| ids.fetch(name) }
    assert_equal [200, "anna"], asked("id")
    assert_equal NO, asked("nobody")
    %w[umlaut binary latin].each { |name| assert_equal [200, "Jürgen"], asked(name) }
    assert_equal [200, "x" * 255], asked("longest")
  end

  def test_any_other_id_counts_as_a_block_that_raised
    ids = ["admin\0x", "", "Swordfish" * 100, "\xff", true, false, :anna, 5, ["anna"]]
    auth.plain { |name, _, _| ids.fetch(Integer(name)) }
    said = warnings do
      ids.each_index { |index| assert_equal LATER, asked(index.to_s), ids[index].inspect }
      ids.each { decision }
    end
    assert_includes said, "a user id from a block takes"
    refute_includes said, "Sword"
  end

  # An error whose `message` raises.
  class Mute < StandardError
    def message = raise("no message")
  end

  def test_every_sort_of_failure_is_a_300_and_is_told_without_the_password
    failures = {
      "method" => proc { |password| password.frobnicate }, "error" => proc { raise "no" },
      "syntax" => proc { raise NotImplementedError }, "depth" => proc { raise SystemStackError },
      "throw" => proc { throw :nowhere }, "memory" => proc { raise NoMemoryError },
      "kill" => proc { Thread.current.kill }, "exit" => proc { Thread.exit },
      "mute" => proc { raise Mute }
    }
    auth(workers: 1)
      .plain { |name, password, _| failures.fetch(name, proc { name }).call(password) }
    found = nil
    said = warnings do
      2.times { failures.each_key { |name| assert_equal LATER, asked(name), name } }
      assert_equal [200, "anna"], asked("anna")
      # The Auth warns of an ended thread before it reports the decision.
      found = Array.new(2 * failures.size + 1) { decision }
    end
    assert_equal [300, false, "its block raised NoMethodError", true],
      [found[0].status, found[0].granted?, found[0].reason, found.last.granted?]
    assert_includes said, "frobnicate"
    refute_includes said, "Swordfish"
    failures = said.scan(/block for a PLAIN client (?:raised .*\((\w+)\)|ended its thread)/)
    assert_equal [
      nil, "NoMemoryError", "NoMethodError", "NotImplementedError", "RuntimeError",
      "SystemStackError", "UncaughtThrowError"
    ], failures.flatten.uniq.sort_by(&:to_s)
    assert_operator threads_named("godwit auth worker").size, :<=, 1
  end

  def test_a_block_that_exceeds_the_time_is_a_300
    held = Thread::Queue.new
    auth(timeout: 0.05, workers: 1).plain { |name, _, _| (name == "slow") ? held.pop : name }
    ask("slow")
    assert_equal ["slow", 300], reply
    held << "too late"
    assert_equal "its block takes too long", decision.reason
    # Waits until the only worker is idle. On a busy machine the block for anna may be late, too.
    eventually { asked("anna") == [200, "anna"] }
    ask("end")
    assert_equal "end", reply.first, "the late answer is not sent"
  end

  def test_where_no_worker_is_free_clients_wait_and_get_a_300_in_the_end
    held = Thread::Queue.new
    begun = Thread::Queue.new
    auth(workers: 2, timeout: 0.2).plain { |name, _, _| begun << name && held.pop }
    auth.curve(keys: :any)
    {"a" => "127.0.0.1", "b" => "127.0.0.2"}.each do |name, address|
      ask(name, address: address)
      begun.pop
    end
    ask("c")
    assert_equal 200, zap_curve(Godwit::Curve.keypair).first, "rules without a block need no worker"
    replies = Array.new(3) { reply }
    assert_equal [["a", 300], ["b", 300], ["c", 300]], replies.sort
    held.close
    eventually { asked("d") == NO }
    names = Array.new(begun.size) { begun.pop }
    refute_includes names, "c"
    reasons = Array.new(4) { decision }.reject(&:granted?).map(&:reason)
    assert_equal ["its block takes too long"] * 2 + ["no worker was free"], reasons
  end

  def test_a_block_may_change_the_rules_and_close_the_auth
    auth.plain do |name, _, _|
      (name == "close") ? auth.close : auth.plain(users: {"anna" => "Swordfish"})
      name
    end
    assert_equal [200, "first"], asked("first")
    assert_equal [200, "anna"], asked("anna")
    assert_equal NO, asked("first")
    auth.plain { |_, _, _| auth.close }
    ask("close")
    eventually { auth.closed? }
  end

  def test_decisions_come_in_order_and_a_block_that_raises_stops_nothing
    numbers = Thread::Queue.new
    auth.on_decision do |found|
      numbers << found.domain
      raise "no" if found.domain == "2"
    end
    said = warnings do
      5.times { |number| zap(domain: number.to_s) }
      assert_equal %w[0 1 2 3 4], Array.new(5) { ended(in_thread { numbers.pop }) }
      zap
      ended(in_thread { numbers.pop })
    end
    assert_match(/the block of on_decision raised .*no/, said)
    auth.on_decision
    zap
    assert_empty numbers
  end

  def test_a_slow_on_decision_holds_up_one_worker_at_most
    held = Thread::Queue.new
    auth(workers: 2).plain { |name, _, _| name }
    auth.on_decision { held.pop }
    10.times { |number| assert_equal [200, "u#{number}"], asked("u#{number}") }
    assert_operator threads_named("godwit auth worker").size, :<=, 2
    held.close
  end

  def test_what_a_decision_says
    auth.plain(users: {"anna\e[31m" => "Swordfish"})
    zap_plain("anna\e[31m", "Swordfish", domain: "billing", address: "10.0.0.1")
    found = decision
    assert_equal "granted PLAIN client anna\\e[31m from 10.0.0.1 for billing: " \
      "by its password (200)", found.to_s
    assert_equal "#<Godwit::Auth::Decision #{found}>", found.inspect
    zap_plain("anna", "Swordfish")
    [found, decision].each do |one|
      refute_includes one.inspect, "Swordfish"
      assert_predicate one, :frozen?
    end
  end

  # Lets no thread start in the library during the block, as in a process at its limit of threads.
  def without_new_threads
    worker = Godwit.const_get(:Worker)
    worker.define_singleton_method(:new) { |*| raise ThreadError, "can't create Thread" }
    yield
  ensure
    worker.singleton_class.remove_method(:new)
  end

  # Makes each warning raise during the block.
  def with_broken_stderr
    before = $stderr
    $stderr = Object.new.tap { |io| io.define_singleton_method(:write) { |*| raise IOError } }
    yield
  ensure
    $stderr = before
  end

  def test_a_worker_that_cannot_start_costs_a_300_and_the_auth_goes_on
    auth(workers: 1).plain { |name, _, _| name }
    auth.on_decision
    warnings do
      without_new_threads { 3.times { assert_equal LATER, asked("anna") } }
    end
    assert_equal 0, threads_named("godwit auth worker").size
    assert_equal [200, "anna"], asked("anna")
    assert_equal 1, threads_named("godwit auth worker").size
  end

  def test_while_no_second_worker_can_start_requests_wait_for_the_first
    held = Thread::Queue.new
    begun = Thread::Queue.new
    auth(workers: 2).plain do |name, _, _|
      begun << name
      (name == "slow") ? held.pop : name
    end
    auth.on_decision
    ask("slow")
    begun.pop
    without_new_threads do
      ask("anna")
      assert_equal 300, zap_curve(Godwit::Curve.keypair).first
      held << "slow"
      assert_equal [["anna", 200], ["slow", 200]], [reply, reply].sort
    end
    assert_equal 1, threads_named("godwit auth worker").size
  end

  def test_an_auth_whose_thread_cannot_start_leaves_no_authenticator
    without_new_threads { assert_raises(ThreadError) { Godwit::Auth.new(context: context) } }
    auth.plain(users: {"anna" => "Swordfish"})
    assert_equal [200, "anna"], asked("anna")
  end

  def test_a_warning_that_raises_costs_no_answer
    auth.plain { raise "no" }
    with_broken_stderr { 3.times { assert_equal LATER, asked("anna") } }
    file = File.join(scratch_dir, "passwords")
    File.write(file, "anna=Swordfish\n", perm: 0o600)
    auth.plain(file: file)
    assert_equal [200, "anna"], asked("anna")
    File.delete(file)
    with_broken_stderr { 3.times { assert_equal LATER, asked("anna") } }
    auth.plain(users: {"anna" => "Swordfish"})
    assert_equal [200, "anna"], asked("anna")
  end

  def test_equal_warnings_come_at_most_once_a_second
    auth.plain { |name, _, _| raise "no #{name}" }
    auth.on_decision { |found| decisions << found && raise(found.reason) }
    said = with_clock do |clock|
      warnings do
        2.times do
          3.times { |number| assert_equal LATER, asked(number.to_s) }
          3.times { decision }
          zap # the decision about this request comes after the warnings
          decision
          clock.advance(1.1)
        end
      end
    end
    assert_equal 2, said.scan("the block for a PLAIN client raised").size
    assert_equal 2, said.scan("the block of on_decision raised").size
  end
end
