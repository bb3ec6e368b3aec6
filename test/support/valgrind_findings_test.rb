# frozen_string_literal: true

require "test_helper"
require "memory/valgrind"

# Which of valgrind's findings the stage counts as Godwit's.
class ValgrindFindingsTest < Godwit::TestCase
  MALLOC = %w[/x/vgpreload_memcheck-amd64-linux.so malloc].freeze
  CALLOC = %w[/x/vgpreload_memcheck-amd64-linux.so calloc].freeze
  UNNAMED = %w[/x/libruby-3.1.so.3.1.2 ???].freeze
  EXTENSION = %w[/x/godwit_ext.so gw_frame_take].freeze
  LIBZMQ = %w[/x/libzmq.so.5.2.4 ???].freeze

  FREE = %w[/x/vgpreload_memcheck-amd64-linux.so free].freeze
  NEW = %w[/x/vgpreload_memcheck-amd64-linux.so new].freeze
  XMALLOC = %w[/x/libruby-3.3.so.3.3 ruby_xmalloc2].freeze
  LEAK = "Leak_DefinitelyLost"

  # [kind, stacks, address] of findings that count as Godwit's: a bad read with the extension or
  # libzmq in a stack (in a fiber's stack only if the address is in a freed block), and a leak of
  # memory that one of them allocated.
  OURS = [
    ["InvalidRead", [[UNNAMED], [FREE, EXTENSION]]],
    ["SyscallParam", [[%w[/x/libc.so.6 send], LIBZMQ]]],
    ["UninitCondition", [[EXTENSION]]],
    ["InvalidRead", [[UNNAMED, EXTENSION]], "Address 0x8 is inside a block of size 48 free'd"],
    *[[MALLOC, EXTENSION], [MALLOC, LIBZMQ, EXTENSION], [NEW, LIBZMQ], [CALLOC, UNNAMED, EXTENSION],
      [MALLOC, XMALLOC, EXTENSION]].map { |stack| [LEAK, [stack]] }
  ].freeze
  # Findings in Ruby's own objects and in its collector.
  NOT_OURS = [
    ["InvalidRead", [[UNNAMED], [MALLOC, UNNAMED]]],
    ["InvalidRead", [[UNNAMED, EXTENSION]], "Address 0x8 is in a rw- anonymous segment"],
    ["Leak_PossiblyLost", [[MALLOC, EXTENSION]]],
    *[[MALLOC, UNNAMED, UNNAMED, EXTENSION], [CALLOC, UNNAMED, UNNAMED, UNNAMED, EXTENSION],
      [MALLOC, XMALLOC, %w[/x/libruby-3.3.so.3.3 rb_str_new], EXTENSION]]
      .map { |stack| [LEAK, [stack]] }
  ].freeze

  test "the findings that are ours, and others" do
    OURS.each { |row| assert finding(*row).ours?, row.inspect }
    NOT_OURS.each { |row| refute finding(*row).ours?, row.inspect }
  end

  test "nothing of the extension is suppressed" do
    suppressed =
      File
        .readlines(Godwit::TestSupport::Valgrind::SUPPRESSIONS)
        .reject { |line| line.start_with?("#") }
    assert_operator suppressed.size, :>, 3
    assert_empty suppressed.grep(/godwit|\.\.\.|fun:gw_/)
  end

  private

  def finding(kind, stacks, address = nil)
    stacks = stacks.map { |stack| stack.map { |object, function| [object, function, "place"] } }
    Godwit::TestSupport::Valgrind::Finding.new(kind, "what", stacks, address)
  end
end
