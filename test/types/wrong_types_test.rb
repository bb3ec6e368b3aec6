# frozen_string_literal: true

require "test_helper"
require "open3"

# The checks of types at run time detect wrong types, and fail the run. A child process runs a
# small test with a changed copy of sig/.
class WrongTypesTest < Godwit::TestCase
  ROOT = File.expand_path("../..", __dir__)
  RUN = <<~RUBY
    require "test_helper"
    class Small < Godwit::TestCase
      test "a pair talks" do
        left, right = connected_pair(:PAIR, :PAIR, transport: :inproc)
        left << "a"
        left.send(["b", "c"], timeout: HANG)
        assert_equal "a", right.recv
        assert_equal ["b", "c"], right.recv(timeout: HANG)
        assert_raises(Godwit::MessageTypeError) { left.send(5) }
        assert_nil right.recv(timeout: 0, exception: false)
        in_thread { left.send_many(["d"]) }.join
        right.each { |message| assert_equal("d", message) && break }
      end
    end
  RUBY

  test "right types pass, arguments that are refused too" do
    passes, said = run_with
    assert passes, said
    assert_match(/typed methods were called/, said)
  end

  # A fault => the text in sig/socket/messages.rbs, its replacement, and the run's message.
  WRONG = {
    "a result" => ["-> received\n", "-> String\n", /Messages#recv\].*"b", "c"/],
    "a result of a method in C" => ["def <<: (message message) -> self",
      "def <<: (message message) -> nil", /#<<\] ReturnTypeError/],
    "a keyword" => ["(?timeout: timeout, exception: false) -> received?",
      "(exception: false) -> received?", /Messages#recv\]/],
    "what a block is given" => ["{ (received message) -> void }", "{ (Symbol message) -> void }",
      /Messages#each\]/],
    "a call in another thread" => ["(Array[message] messages", "(Array[Frame] messages",
      /#send_many\] ArgumentTypeError/]
  }.freeze

  test "#{WRONG.keys.join(", ")} of a wrong type fails the run" do
    passes, said = run_with do |sig|
      file = File.join(sig, "socket/messages.rbs")
      text = File.read(file)
      WRONG.each_value do |right, wrong, _|
        assert_includes text, right
        text = text.gsub(right, wrong)
      end
      File.write(file, text)
    end
    refute passes, said
    WRONG.each { |what, (*, message)| assert_match(/^type: .*#{message}/, said, what) }
    assert_match(/ 0 failures, 0 errors/, said) # only the checks of types have failed
  end

  private

  def run_with
    sig = File.join(scratch_dir, "sig")
    FileUtils.cp_r(File.join(ROOT, "sig"), sig)
    yield sig if block_given?
    env = {
      "GODWIT_TEST_TYPES" => "1", "GODWIT_TEST_SIG" => sig, "GODWIT_TEST_GC" => "none",
      "GODWIT_TEST_REPORT" => nil, "GODWIT_TEST_NOW" => nil
    }
    said, status =
      Open3.capture2e(env, RbConfig.ruby, "-Ilib", "-Itest", "-", stdin_data: RUN, chdir: ROOT)
    [status.success?, said]
  end
end
