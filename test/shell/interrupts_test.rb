# frozen_string_literal: true

require_relative "shell_case"
require "support/interrupts"

# Thread#raise at each line of the code that ends a command.
class ShellInterruptsTest < ShellCase
  include Godwit::TestSupport::Interrupts

  STREAM = %r{lib/godwit/shell/stream\.rb\z}
  ROWS = %r{lib/godwit/shell/rows\.rb\z}

  test "an interrupt that is pending when a command's end is awaited leaves no descriptor" do
    assert_nothing_left do
      group = nil
      3.times do
        assert_raises(Stop) do
          Thread.handle_interrupt(Stop => :never) do
            Thread.current.raise(Stop)
            sh("echo $$") { |row| group = row }
          end
        end
      end
      group
    end
  end

  test "an interrupted close may be called again" do
    not_on :jruby, "a TracePoint there cannot raise at a line"
    at_each_line(STREAM) do |interrupted|
      stream = sh("echo; sleep 1000")
      reader = in_thread { stream.each(&:to_s) }
      eventually { stream.running? }
      again = interrupted.call { stream.close }
      stream.close
      assert reader.value.stopped?
      refute stream.running?
      again
    end
  end

  test "next and rewind continue after an interrupt" do
    not_on :jruby, "a TracePoint there cannot raise at a line"
    at_each_line(STREAM) do |interrupted|
      stream = sh("echo 1; echo 2; sleep 1000")
      stream.next
      again = interrupted.call { stream.rewind }
      assert_includes %w[1 2], stream.next
      again
    ensure
      stream.close
      refute stream.running?
    end
  end

  test "next loses no row to an interrupt that a read meets" do
    stream = sh("seq 20000")
    rows = []
    assert_raises(Stop) do
      Thread.handle_interrupt(Stop => :never) do
        loop do
          Thread.current.raise(Stop) unless Thread.pending_interrupt?
          rows << Thread.handle_interrupt(Stop => :on_blocking) { stream.next }
        rescue Stop
          rows << stream.next
        end
        Thread.current.raise(Stop) unless Thread.pending_interrupt?
      end
    end
    assert_equal (1..20_000).map(&:to_s), rows
  end

  test "next gives each row once, also after an interrupt" do
    not_on :jruby, "a TracePoint there cannot raise at a line"
    [{sep: :chunk}, {long: :split, limit: 2}].each do |options|
      at_each_line(ROWS, least: 50) do |interrupted|
        stream = sh("printf 'abcde\\nfg'", **options)
        rows = []
        again = interrupted.call { loop { rows << stream.next } || true }
        loop { rows << stream.next }
        assert_equal "abcdefg", rows.join.delete("\n")
        again
      ensure
        stream.close
      end
    end
  end

  test "an interrupt ends next while a block gets the rows of stderr" do
    rows = 0
    stream = sh("yes >&2", err: ->(_) { rows += 1 })
    thread = in_thread { stream.next }
    eventually { rows > 1_000 }
    ended(thread.kill)
  ensure
    stream.close
  end
end
