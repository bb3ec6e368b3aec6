# frozen_string_literal: true

require "test_helper"

# On each backend GC releases unclosed objects, and dropped frames do not fill the memory. The tests
# run in child processes, which have separate memory and descriptors.
class CollectionTest < Godwit::TestCase
  PRELUDE = <<~RUBY
    require "godwit"
    CONTEXT = Godwit::Context.new(linger: 0)
  RUBY

  BOUND = "CONTEXT.socket(:PULL).bind('tcp://127.0.0.1:*')"
  {
    "sockets" => BOUND,
    "monitors and their sockets" =>
      "#{BOUND}.then { |pull| [pull, pull.monitor.tap(&:close), pull.monitor, pull.monitor] }",
    "proxies" => "Godwit::Proxy.new(#{BOUND}, CONTEXT.socket(:PUSH)).start.stop.wait(5)",
    "pollers" => "Godwit::Poller.new(#{BOUND}, IO.pipe.first)",
    "loops" => <<~RUBY,
      Godwit::Loop.new.tap do |loop|
        loop.readable(#{BOUND}) { raise }
        loop.after(1000) { loop }
        loop.on_error { loop }
      end
    RUBY
    "contexts" =>
      "Godwit::Context.new(linger: 0).socket(:PUSH).connect('tcp://127.0.0.1:1').send('x')"
  }.each do |what, source|
    test "dropped #{what} give back their descriptors" do
      assert_done <<~RUBY
        def make = #{source}
        make
        Thread.new { make }.join
        before = descriptors
        kept = [] # retains the objects until their descriptors are counted
        20.times { Thread.new { kept << make; nil }.join }
        made = descriptors
        kept.clear
        abort "nothing to collect: \#{before}, \#{made}" unless made > before + 5
        until descriptors <= before + 4
          collect_garbage
          Array.new(1000) { +"" } # overwrites stale references on the stack
          sleep(POLL)
        end
      RUBY
    end
  end

  test "dropped frames do not fill the memory" do
    assert_done <<~RUBY
      def resident = File.read("/proc/self/status")[/VmRSS:\\s+(\\d+)/, 1].to_i / 1024 # MiB
      pull = CONTEXT.socket(:PULL).bind("inproc://a")
      push = CONTEXT.socket(:PUSH).connect("inproc://a")
      data = "x" * (1 << 20)
      50.times { push << data; pull.recv_frame }
      before = resident
      peak = 0
      2000.times do |number|
        push << data
        pull.recv_frame
        peak = [peak, resident].max if number % 10 == 0
      end
      puts "peak: \#{peak - before} MiB more"
      abort "\#{peak - before} MiB more" if peak - before > 500
    RUBY
  end

  private

  def assert_done(source) = super(source, gems: Godwit::BACKEND == :ffi)
end
