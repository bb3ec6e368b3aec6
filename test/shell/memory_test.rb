# frozen_string_literal: true

require_relative "shell_case"

# The cost of rows: nothing that grows with their number.
class MemoryTest < ShellCase
  PRELUDE = <<~'RUBY'
    require "godwit"
    def resident = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i
    ROWS = 3_000_000
    SOURCE = "yes #{"x" * 99} | head -n #{ROWS}"
  RUBY

  {"each a String of its own" => "", "one String for all" => ", reuse: true"}.each do |name, option|
    test "three million rows, 300 MB: #{name}" do
      not_on :ffi, "each read makes Strings, which Ruby collects when it likes"
      result = assert_child run_child(PRELUDE + <<~RUBY)
        Godwit::Shell.rows("echo") { nil }
        GC.start
        before = most = resident
        rows = bytes = 0
        Godwit::Shell.rows(SOURCE, shell: true#{option}) do |row|
          rows += 1
          bytes += row.bytesize
          most = [most, resident].max if rows % 50_000 == 0
        end
        puts rows, bytes, most - before
      RUBY
      rows, bytes, growth = result.stdout.split.map(&:to_i)
      assert_equal [3_000_000, 297_000_000], [rows, bytes]
      assert_operator growth, :<=, 4096, "KiB"
    end
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

  test "the first ten of a tree: half a megabyte at most" do
    not_on :ffi, "each read makes Strings"
    count = 1500
    Dir.mkdir(tree = File.join(scratch_dir, "tree"))
    count.times { |number| File.write(File.join(tree, "file#{number}"), "") }
    result = assert_child run_child(<<~'RUBY', [tree])
      require "godwit"
      Godwit::Shell.rows("echo") { nil }
      best = 5.times.map do
        GC.start
        GC.disable
        bytes = GC.stat(:malloc_increase_bytes)
        objects = GC.stat(:total_allocated_objects)
        rows =
          Godwit::Shell
            .rows("while :; do find #{ARGV[0]}; done", shell: true)
            .lazy
            .grep(/9/)
            .first(10)
        abort unless rows.size == 10
        bytes =
          GC.stat(:malloc_increase_bytes) - bytes +
            40 * (GC.stat(:total_allocated_objects) - objects)
        GC.enable
        bytes
      end
      puts best.min
    RUBY
    assert_operator result.stdout.to_i, :<=, 500_000
  end
end
