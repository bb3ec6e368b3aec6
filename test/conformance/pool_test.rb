# frozen_string_literal: true

require_relative "case"

# How a Godwit::Pool lends, retains and replaces sockets. test/process tests a Pool after a fork.
class PoolTest < Conformance::Case
  def pool(type = :PUSH, **options)
    own(Godwit::Pool.new(**options) { open_socket(type) })
  end

  test "it lends the socket that came back last, and opens another only when needed" do
    pool = pool(size: 2)
    assert_equal 2, pool.available
    first = pool.with { |socket| socket }
    assert_same first, pool.with { |socket| socket }
    assert_equal :value, pool.with { |socket| assert_same(first, socket) && :value }
    pool.with do |one|
      pool.with do |other|
        refute_same one, other
        assert_equal 0, pool.available
      end
    end
    assert_equal "#<Godwit::Pool size=2 available=2>", pool.inspect
    refute_predicate first, :closed?
  end

  test "a socket whose block did not end is closed, and replaced" do
    rep, _ = connected_pair(:REP, :REQ)
    in_thread { rep.serve(&:itself) }
    pool = own(Godwit::Pool.new(size: 1) { open_socket(:REQ).connect(rep.last_endpoint) })
    used = []
    ask = lambda do |&ending|
      pool.with do |req|
        used << req
        req.send("a request without its reply")
        ending.call
      end
    end
    assert_raises(KeyError) { ask.call { raise KeyError } }
    catch(:out) { ask.call { throw :out } }
    -> { ask.call { return } }.call
    in_thread { ask.call { Thread.current.kill } }.join
    assert_equal "again", pool.with { |req| req.request("again", timeout: 5) }
    assert_equal 4, used.uniq(&:object_id).size
    assert used.all?(&:closed?)
    pool.with(&:close)
    assert_equal "and again", pool.with { |req| req.request("and again", timeout: 5) }
  end

  test "a thread waits for a socket: until one comes back, time is up, or the pool is closed" do
    pool = pool(size: 1)
    inside, go_on, waiters = Thread::Queue.new, Thread::Queue.new, []
    borrower = in_thread { pool.with { inside << true && go_on.pop } }
    inside.pop
    error = assert_raises(Godwit::TimeoutError) { pool.with(timeout: 0.01) { flunk } }
    assert_match(/all 1 sockets of the pool were in use for 0.01 s: make size: larger/,
      error.message)
    slots = pool.instance_variable_get(:@slots)
    waiting = count_waiters(slots, :@returned)
    waiters << in_thread { pool.with(timeout: nil) { :borrowed } }
    until_waiting(waiting)
    go_on << true
    assert_equal :borrowed, ended(waiters.pop)
    ended(borrower)

    held = in_thread { pool.with { |socket| inside << socket && go_on.pop } }
    socket = inside.pop
    closed = in_thread { assert_raises(Godwit::ClosedError) { pool.with(timeout: nil) { flunk } } }
    until_waiting(waiting)
    2.times { assert_nil pool.close }
    assert_match(/with: the pool is closed/, ended(closed).message)
    refute_predicate socket, :closed?
    go_on << true
    ended(held)
    assert_predicate socket, :closed?
    assert_predicate pool, :closed?
    assert_match(/ \(closed\)>\z/, pool.inspect)
  end

  test "a slot comes back when its socket cannot be opened" do
    tries = ["no endpoint", nil, open_socket(:PUSH)]
    pool = own(Godwit::Pool.new(size: 1) { tries.shift or raise KeyError })
    assert_named(Godwit::ArgumentTypeError, /a pool's block takes no argument and gives a new/) do
      pool.with { flunk }
    end
    assert_raises(KeyError) { pool.with { flunk } }
    pool.with { |socket| assert_equal :PUSH, socket.type }
  end

  test "wrong arguments are refused by name" do
    assert_named(Godwit::ArgumentValueError, /a pool needs a block/) { Godwit::Pool.new }
    {size: [0, "5", nil, 1.5], timeout: [-1, "1", Float::NAN]}.each do |name, values|
      values.each do |value|
        assert_raises(Godwit::ArgumentValueError, Godwit::ArgumentTypeError, value.inspect) do
          Godwit::Pool.new(name => value) { flunk }
        end
      end
    end
    assert_raises(Godwit::ArgumentTypeError) { pool.with(timeout: "1") { flunk } }
    assert_raises(Godwit::UnsupportedError) { pool.dup }
  end
end
