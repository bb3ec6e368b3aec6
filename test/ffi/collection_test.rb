# frozen_string_literal: true

require "test_helper"

# Finalizers release unclosed objects, and libzmq's memory for dropped frames before it fills the
# machine's. In child processes, which have separate memory and descriptors.
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

  # 2,000 frames of 1 MiB. Without the Collector they took 1.2 GiB on CRuby, 2 GiB on JRuby.
  {
    "received frames" => "PUSH << DATA_SENT; PULL.recv_frame",
    "received batches of frames" => "PUSH << DATA_SENT; PULL.recv_frames",
    "frames that were made" => "Godwit::Frame.new(DATA_SENT)",
    "messages" => "PUSH << [DATA_SENT, 'x']; PULL.recv_message"
  }.each do |what, source|
    test "dropped #{what} do not fill the memory" do
      assert_done <<~RUBY
        CONTEXT = Godwit::Context.new(linger: 0)
        PULL = CONTEXT.socket(:PULL).bind("inproc://a")
        PUSH = CONTEXT.socket(:PUSH).connect("inproc://a")
        DATA_SENT = ("x" * (1 << 20))
        50.times { #{source} }
        before = resident
        peak = 0
        2000.times do |number|
          #{source}
          peak = [peak, resident].max if number % 10 == 0
        end
        puts "peak: \#{peak - before} MiB more"
        abort "\#{peak - before} MiB more" if peak - before > 500
      RUBY
    end
  end

  test "kept frames cost no collection for each new frame" do
    assert_done <<~RUBY
      runs = 0
      Godwit::Backend::FFI::Collector.singleton_class.prepend(
        Module.new { define_method(:run) { runs += 1 } }
      )
      kept = Array.new(300) { Godwit::Frame.new("x" * (1 << 20)) }
      abort "\#{runs} collections" unless (3..4) === runs # at 64, 128, 192 and 288 MiB, about
      before = runs
      1000.times { Godwit::Frame.new("x" * (1 << 20)).close }
      abort "\#{runs - before} for frames that were closed" if runs - before > 1
    RUBY
  end

  private

  def assert_done(source) = super(source, gems: true, env: {"GODWIT_BACKEND" => "ffi"})
end
