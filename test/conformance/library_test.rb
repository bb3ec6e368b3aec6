# frozen_string_literal: true

# libzmq: test_ancillaries, test_capabilities

require "test_helper"
require_relative "assertions"

# What the module reports about itself; inspect.
class LibraryTest < Godwit::TestCase
  include Conformance::Assertions

  test "no key and no password shows" do
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
    keys, server = Godwit::Curve.keypair, Godwit::Curve.keypair
    sockets = [
      open_socket(:DEALER, curve: keys, server_key: server.public_key),
      open_socket(:DEALER, curve: keys), open_socket(:DEALER, plain: %w[user Swordfish1])
    ]
    shown = [*sockets, keys, context].flat_map { |one| [one.inspect, one.to_s, [one].join] }
    shown << Marshal.dump(shown) << sockets.map(&:endpoints).inspect
    shown.each do |text|
      [keys.secret_key, Godwit::Z85.decode(keys.secret_key), "Swordfish1"].each do |secret|
        refute_includes text.b, secret.b
      end
    end
    assert_includes keys.inspect, keys.public_key
    assert_match(/hidden/, keys.inspect)
  end

  test "zmq_fd is a number, pointer an address" do
    a, b = connected_pair(:PAIR, :PAIR, transport: :inproc)
    assert_kind_of Integer, a.zmq_fd
    refute_equal a.zmq_fd, b.zmq_fd
    refute_equal a.pointer, b.pointer
    refute_respond_to a, :to_io
    a.close
    assert_raises(Godwit::ClosedError) { a.zmq_fd }
    assert_raises(Godwit::ClosedError) { a.pointer }
  end

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
