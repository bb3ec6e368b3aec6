# frozen_string_literal: true

require "test_helper"

# The errno that is read is that of the call that failed, though a trap handler or a finalizer makes
# calls in between.
class FFIErrnoTest < Godwit::TestCase
  PRELUDE = <<~RUBY
    require "godwit"
    CONTEXT = Godwit::Context.new(linger: 0)
    PULL = CONTEXT.socket(:PULL).bind("inproc://a")
    OTHER = CONTEXT.socket(:DEALER).bind("inproc://b")

    # EAGAIN and ENOENT: the handlers get another one. It tries a hundred times at least, since a
    # busy machine may allow few in that time.
    def try_for(seconds)
      limit = Process.clock_gettime(Process::CLOCK_MONOTONIC) + seconds
      tries = 0
      while Process.clock_gettime(Process::CLOCK_MONOTONIC) < limit || tries <= 100
        tries += 1
        outcome = PULL.recv_nonblock(exception: false)
        abort outcome.inspect unless outcome == :wait_readable
      end
    end
  RUBY

  test "a trap handler's calls leave the errno of the call that they interrupt" do
    assert_done <<~RUBY
      handled = 0
      asked, ask = IO.pipe
      trap(:USR1) do
        handled += 1
        begin
          OTHER.unbind("inproc://nowhere")
          abort "unbound"
        rescue Errno::ENOENT
          CONTEXT.io_threads
        end
        Godwit::Frame.new("x").close
        ask.syswrite("\\n") # the next one comes soon after this one is over
      end
      # From outside: a thread that sent them would run only when this one is in no call.
      storm = spawn("while read line; do kill -USR1 \#{Process.pid}; done", in: asked)
      ask.syswrite("\\n")
      try_for(1) until handled > 100
      Process.kill(:KILL, storm)
      Process.wait(storm)
    RUBY
  end

  test "finalizers leave errno unchanged, too" do
    assert_done <<~RUBY
      PUSH = CONTEXT.socket(:PUSH).connect("inproc://a")
      GC.disable if GC.respond_to?(:stress=)
      5000.times { PUSH << "x"; PULL.recv_frame }
      collector = Thread.new { loop { GC.enable; collect_garbage; Thread.pass } }
      try_for(1)
    RUBY
  end

  test "an interrupt during the reading of errno reaches the caller" do
    assert_done <<~RUBY
      real = FFI.method(:errno)
      [
        -> { PULL.recv_nonblock(exception: false) }, -> { Godwit::Backend::FFI.keep_errno { nil } }
      ].each do |call|
        due = true
        FFI.define_singleton_method(:errno) do
          next real.call unless due && Thread.current == Thread.main
          due = false
          raise Interrupt, "just then"
        end
        call.call
        abort "not raised"
      rescue Interrupt => error
        abort error.inspect unless error.message == "just then"
      ensure
        FFI.define_singleton_method(:errno, real)
      end
    RUBY
  end

  private

  def assert_done(source) = super(source, gems: true, env: {"GODWIT_BACKEND" => "ffi"})
end
