# frozen_string_literal: true

require "test_helper"
require "memory/valgrind"

# The findings of valgrind that are ours.
class ValgrindFindingsTest < Godwit::TestCase
  MALLOC = %w[/x/vgpreload_memcheck-amd64-linux.so malloc].freeze
  CALLOC = %w[/x/vgpreload_memcheck-amd64-linux.so calloc].freeze
  UNNAMED = %w[/x/libruby-3.1.so.3.1.2 ???].freeze
  EXTENSION = %w[/x/godwit_ext.so gw_frame_take].freeze
  LIBZMQ = %w[/x/libzmq.so.5.2.4 ???].freeze

  test "a bad read with the extension or libzmq in any stack is ours, another is not" do
    freed = [%w[/x/vgpreload_memcheck-amd64-linux.so free], EXTENSION]
    assert finding("InvalidRead", [UNNAMED], freed).ours?
    assert finding("SyscallParam", [%w[/x/libc.so.6 send], LIBZMQ]).ours?
    assert finding("UninitCondition", [EXTENSION]).ours?
    refute finding("InvalidRead", [UNNAMED], [MALLOC, UNNAMED]).ours?
  end

  test "a finding in the stack of a fiber is not ours, in a freed block it is" do
    stack = [UNNAMED, EXTENSION]
    refute finding(
      "InvalidRead", stack, address: "Address 0x87b2ec0 is in a rw- anonymous segment"
    ).ours?
    assert finding(
      "InvalidRead", stack, address: "Address 0x87b2ec0 is 8 bytes inside a block of size 48 free'd"
    ).ours?
  end

  test "a leak is ours if the extension or libzmq allocated it, also by ALLOC" do
    assert leak(MALLOC, EXTENSION).ours?
    assert leak(MALLOC, LIBZMQ, EXTENSION).ours?
    assert leak(%w[/x/vgpreload_memcheck-amd64-linux.so new], LIBZMQ).ours?
    assert leak(CALLOC, UNNAMED, EXTENSION).ours?
    assert leak(MALLOC, %w[/x/libruby-3.3.so.3.3 ruby_xmalloc2], EXTENSION).ours?
  end

  test "a leak of Ruby's own objects, or of the collector, is not ours" do
    refute leak(MALLOC, UNNAMED, UNNAMED, EXTENSION).ours?
    refute leak(
      MALLOC, %w[/x/libruby-3.3.so.3.3 ruby_xmalloc2], %w[/x/libruby-3.3.so.3.3 rb_str_new],
      EXTENSION
    ).ours?
    refute leak(CALLOC, UNNAMED, UNNAMED, UNNAMED, EXTENSION).ours?
    refute finding("Leak_PossiblyLost", [MALLOC, EXTENSION]).ours?
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

  def leak(*frames) = finding("Leak_DefinitelyLost", frames)

  def finding(kind, *stacks, address: nil)
    stacks = stacks.map { |stack| stack.map { |object, function| [object, function, "place"] } }
    Godwit::TestSupport::Valgrind::Finding.new(kind, "what", stacks, address)
  end
end
