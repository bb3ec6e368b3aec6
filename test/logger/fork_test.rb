# frozen_string_literal: true

require_relative "logs"

# A forked child logs under its own id, and sends no record that the parent had queued.
class LoggerForkTest < Godwit::TestCase
  include Godwit::TestSupport::Logs

  def setup
    super
    not_on :jruby, "JRuby cannot fork"
  end

  test "records queued at a fork are sent once, by the parent; each child has its own id and " \
    "numbers, also one that ends by exit!; a child that never logs disturbs nothing" do
    result = assert_logs(<<~RUBY)
      log = Godwit::Logger.new(ENDPOINT)
      500.times { |number| log.info("parent \#{number}") }
      pids = Array.new(5) do |child|
        fork do
          exit!(0) if child == 0
          2_000.times { |number| log.info("child \#{number}") }
          log.close if child < 3
          exit!(0) if child == 1
        end
      end
      `true`
      system("true")
      log.info("parent 500")
      pids.each { |pid| Process.wait(pid) or abort }
      puts Process.pid, pids.drop(1)
    RUBY
    received = records(501 + 4 * 2_000)
    assert_nil record_pull.recv(timeout: 0.1, exception: false)
    assert_equal result.stdout.split.map(&:to_i).sort, received.map(&:pid).uniq.sort
    assert_equal 5, received.map(&:writer).uniq.size
    received.group_by(&:writer).each_value do |ones|
      assert_equal 1, ones.map(&:pid).uniq.size
      assert_equal (1..ones.size).to_a, ones.map(&:seq)
      assert_equal (0...ones.size).to_a, ones.map { |one| one.text[/\d+/].to_i }
    end
  end
end
