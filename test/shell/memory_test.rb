# frozen_string_literal: true

require_relative "shell_case"

# Memory does not grow with the number of rows.
class ShellMemoryTest < ShellCase
  # Prints the block's value for `large`, and by how many KiB that run raised the peak of memory.
  GROWTH = <<~'RUBY'
    require "godwit"
    def peak = File.read("/proc/self/status")[/VmHWM:\s+(\d+)/, 1].to_i
    def measure(small, large)
      yield small
      before = peak
      puts yield(large), peak - before
    end
  RUBY

  {"a million rows, 100 MB" => [[1_000_000, 99_000_000], <<~'RUBY'],
    measure(1_000, 1_000_000) do |count|
      rows = bytes = 0
      Godwit::Shell.rows("yes #{"x" * 99} | head -n #{count}", shell: true) do |row|
        rows += 1
        bytes += row.bytesize
      end
      [rows, bytes]
    end
  RUBY
   "the tail of a hundred megabytes of stderr" => [[65_536, "end"], <<~'RUBY']}
     measure(200_000, 100_000_000) do |bytes|
       script = "head -c #{bytes} /dev/zero >&2; printf end >&2"
       text = Godwit::Shell.rows(script, shell: true, err: :tail).each { nil }.stderr_tail
       [text.bytesize, text[-3..]]
     end
   RUBY
    .each do |name, (found, program)|
    test name do
      not_on :ffi, "each read makes Strings, which Ruby collects when it likes"
      *said, growth = assert_child(run_child(GROWTH + program)).stdout.split
      assert_equal found.map(&:to_s), said
      assert_operator growth.to_i, :<=, 4096, "KiB"
    end
  end
end
