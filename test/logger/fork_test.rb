# frozen_string_literal: true

require_relative "logs"

# A forked child logs separately, and the parent's records stay the parent's.
class LoggerForkTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  def setup
    super
    not_on :jruby, "JRuby cannot fork"
  end

  test "four children with two thousand records each: all arrive once, each with its own pid" do
    child = start_child(<<~RUBY)
      require "godwit"
      log = Godwit::Logger.new(#{record_pull.last_endpoint.inspect})
      log.info("parent 0")
      pids = Array.new(4) { fork { 2_000.times { |number| log.info(number.to_s) } } }
      log.info("parent 1")
      pids.each { |pid| Process.wait(pid) or abort }
      puts pids.join(" ")
    RUBY
    received = records(8_002).group_by(&:pid)
    result = assert_child(child.finish)
    assert_equal "", result.stderr
    pids = result.stdout.split.map(&:to_i)
    assert_equal [child.pid, *pids].sort, received.keys.sort
    assert_equal ["parent 0", "parent 1"], received.delete(child.pid).map(&:text)
    received.each_value do |ones|
      assert_equal (0...2_000).map(&:to_s), ones.map(&:text)
      assert_equal (1..2_000).to_a, ones.map(&:seq)
      assert_equal 1, ones.map(&:writer).uniq.size
    end
  end

  test "records queued at the fork are sent once; a child that ends by exit!, or never logs, " \
    "disturbs nothing" do
    assert_logs(<<~RUBY)
      log = Godwit::Logger.new(ENDPOINT)
      500.times { |number| log.info(number.to_s) }
      3.times do |number|
        child = fork do
          exit!(0) if number == 0
          log.info("child \#{number}")
          log.close
          number == 1 ? exit!(0) : exit
        end
        Process.wait(child)
        `true`
        system("true")
        log.info("after \#{number}")
      end
    RUBY
    texts = records(505).map(&:text)
    assert_equal [*"0".."499", "after 0", "after 1", "after 2", "child 1", "child 2"].sort,
      texts.sort
    assert_nil record_pull.recv(timeout: 0.1, exception: false)
  end
end
