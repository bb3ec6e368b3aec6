# frozen_string_literal: true

require "test_helper"

# Socket#zmq_fd, the build on another system, the files in the gem.
class LibraryTest < Godwit::TestCase
  test "zmq_fd becomes readable when a message arrives" do
    a, b = connected_pair(:PAIR, :PAIR, transport: :tcp)
    io = IO.for_fd(a.zmq_fd, autoclose: false)
    b << "x"
    eventually { io.wait_readable(5) && a.events.include?(:readable) }
    assert_equal "x", a.recv(timeout: 0)
  end

  test "on another system the build stops with that as its first message" do
    extconf = File.expand_path("../../ext/godwit/extconf.rb", __dir__)
    result = run_child(<<~RUBY, [extconf, scratch_dir])
      require "rbconfig"
      RbConfig::CONFIG["host_os"] = "darwin22"
      Dir.chdir(ARGV[1])
      load ARGV.shift
    RUBY
    refute_predicate result.status, :success?
    assert_match(/\A\ngodwit runs on Linux only for now.*darwin22\.\n\z/, result.stderr)
    assert_equal ["", []], [result.stdout, Dir.children(scratch_dir)]
  end

  test "the gem holds the pages of docs/" do
    root = File.expand_path("../..", __dir__)
    spec = Gem::Specification.load("#{root}/godwit.gemspec")
    assert_empty Dir.glob("docs/*.md", base: root) - spec.files
    assert_includes spec.files, "docs/limits.md"
  end
end
