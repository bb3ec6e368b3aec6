# frozen_string_literal: true

require "test_helper"

# Finalizers release unclosed objects, and dropped frames do not fill the memory. The tests run in
# child processes, which have separate memory and descriptors.
class FFICollectionTest < Godwit::TestCase
  PRELUDE = <<~RUBY
    require "godwit"

    def resident = File.read("/proc/self/status")[/VmRSS:\\s+(\\d+)/, 1].to_i / 1024 # MiB

    def collected
      until yield
        collect_garbage
        Array.new(1000) { +"" } # overwrites stale references on the stack
        sleep(POLL)
      end
    end
  RUBY

  {
    "sockets" => "CONTEXT.socket(:PULL).bind('tcp://127.0.0.1:*')",
    "monitors and their sockets" => "CONTEXT.socket(:PULL).bind('tcp://127.0.0.1:*').then { " \
      "|pull| [pull, pull.monitor] }",
    "proxies" => "Godwit::Proxy.new(CONTEXT.socket(:DEALER).bind('tcp://127.0.0.1:*'), " \
      "CONTEXT.socket(:DEALER))",
    "contexts" => "Godwit::Context.new(linger: " \
      "0).socket(:PUSH).connect('tcp://127.0.0.1:1').send('x')"
  }.each do |what, source|
    test "dropped #{what} give back their descriptors" do
      assert_done <<~RUBY
        CONTEXT = Godwit::Context.new(linger: 0)
        def make = #{source}
        make
        Thread.new { make }.join
        before = descriptors
        kept = [] # or a collection comes before they are counted
        20.times { Thread.new { kept << make; nil }.join }
        made = descriptors
        kept.clear
        abort "nothing to collect: \#{before}, \#{made}" unless made > before + 5
        collected { descriptors <= before + 4 }
      RUBY
    end
  end

  test "dropped frames do not fill the memory" do
    assert_done <<~RUBY
      CONTEXT = Godwit::Context.new(linger: 0)
      PULL = CONTEXT.socket(:PULL).bind("inproc://a")
      PUSH = CONTEXT.socket(:PUSH).connect("inproc://a")
      DATA_SENT = ("x" * (1 << 20))
      50.times { PUSH << DATA_SENT; PULL.recv_frame }
      before = resident
      peak = 0
      2000.times do |number|
        PUSH << DATA_SENT
        PULL.recv_frame
        peak = [peak, resident].max if number % 10 == 0
      end
      puts "peak: \#{peak - before} MiB more"
      abort "\#{peak - before} MiB more" if peak - before > 500
    RUBY
  end

  private

  def assert_done(source) = super(source, gems: true, env: {"GODWIT_BACKEND" => "ffi"})
end
