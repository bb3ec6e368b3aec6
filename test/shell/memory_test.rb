# frozen_string_literal: true

require_relative "shell_case"

# The cost of rows: nothing that grows with their number.
class MemoryTest < ShellCase
  test "a million rows, 100 MB" do
    not_on :ffi, "each read makes Strings, which Ruby collects when it likes"
    result = assert_child run_child(<<~'RUBY')
      require "godwit"
      def resident = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i
      Godwit::Shell.rows("echo") { nil }
      GC.start
      before = most = resident
      rows = bytes = 0
      Godwit::Shell.rows("yes #{"x" * 99} | head -n 1000000", shell: true) do |row|
        rows += 1
        bytes += row.bytesize
        most = [most, resident].max if rows % 50_000 == 0
      end
      puts rows, bytes, most - before
    RUBY
    rows, bytes, growth = result.stdout.split.map(&:to_i)
    assert_equal [1_000_000, 99_000_000], [rows, bytes]
    assert_operator growth, :<=, 4096, "KiB"
  end

  test "the tail of a hundred megabytes of stderr" do
    not_on :ffi, "each read makes Strings"
    result = assert_child run_child(<<~'RUBY')
      require "godwit"
      def peak = File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i
      tail = ->(bytes) do
        Godwit::Shell
          .rows("head -c #{bytes} /dev/zero >&2; printf end >&2", shell: true, err: :tail)
          .each { nil }
          .stderr_tail
      end
      tail.call(200_000)
      before = peak
      text = tail.call(100_000_000)
      puts text.bytesize, text[-3..], peak - before
    RUBY
    bytes, last, growth = result.stdout.split
    assert_equal [65_536, "end"], [bytes.to_i, last]
    assert_operator growth.to_i, :<=, 4096, "KiB"
  end
end
