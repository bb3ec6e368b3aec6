# frozen_string_literal: true

require "test_helper"

# Which backend is taken, and what is said when its libzmq cannot be had.
class LoadingTest < Godwit::TestCase
  PROGRAM = <<~RUBY
    begin
      require "godwit"
      puts Godwit::BACKEND, Godwit.libzmq_version
    rescue LoadError => error
      puts error.message, error.cause.inspect
    end
  RUBY

  def load_with(**env)
    assert_child(run_child(PROGRAM, gems: true, env: {"GODWIT_BACKEND" => "ffi", **env.transform_keys(&:to_s)})).stdout
  end

  test "GODWIT_BACKEND=ffi takes it, an empty one and none the extension" do
    assert_match(/\Affi\n4\.\d/, load_with)
    assert_match(/\Anative\n4\.\d/, load_with(GODWIT_BACKEND: ""))
    assert_match(/\Anative\n4\.\d/, load_with(GODWIT_BACKEND: nil))
  end

  test "a backend that does not exist is refused" do
    assert_equal "GODWIT_BACKEND takes native or ffi: got \"fii\"\nnil\n", load_with(GODWIT_BACKEND: "fii")
  end

  test "JRuby and TruffleRuby take it by themselves, and may be told otherwise" do
    assert_equal %w[ffi ffi native], %w[jruby truffleruby ruby].map { |engine| Godwit::Backend.choose(nil, engine) }
    assert_equal "native", Godwit::Backend.choose("native", "jruby")
  end

  test "no libzmq there: what was looked for, where, and the package for each system" do
    said = load_with(GODWIT_LIBZMQ: "/nowhere/libzmq.so.5")
    ["/nowhere/libzmq.so.5", "GODWIT_LIBZMQ", "Debian", "libzmq5", "Fedora", "zeromq", "Alpine", "apk add libzmq", "macOS", "brew install zeromq"].each do |word|
      assert_includes said, word
    end
  end

  test "GODWIT_LIBZMQ chooses one" do
    path = File.readlines("/proc/self/maps").filter_map { |line| line[%r{/\S*libzmq\.so\S*}] }.first
    assert_match(/\Affi\n4\./, load_with(GODWIT_LIBZMQ: path))
  end

  test "a library that is not libzmq says so" do
    said = load_with(GODWIT_LIBZMQ: "libc.so.6")
    assert_match(/\Alibc\.so\.6 is no libzmq that Godwit knows: .*zmq_version/, said)
    assert_includes said, "apt-get install libzmq5"
  end

  test "an old libzmq says which one is needed" do
    path = File.join(scratch_dir, "libzmq.so.5")
    source = File.join(scratch_dir, "old.c")
    File.write(source, "void zmq_version(int *major, int *minor, int *patch) { *major = 4; *minor = 2; *patch = 5; }\n")
    assert system("cc", "-shared", "-fPIC", "-o", path, source)
    said = load_with(GODWIT_LIBZMQ: path)
    assert_includes said, "Godwit needs libzmq 4.3 or newer: #{path} is 4.2.5"
  end

  test "what is not done yet says so, by name" do
    Godwit::Backend::FFI::MISSING.each do |klass, facts|
      facts[:primitives].each do |primitive|
        object = Godwit.const_get(klass).allocate
        error = assert_raises(Godwit::UnsupportedError) { object.__send__(primitive) }
        assert_includes error.message, facts[:what]
      end
    end
  end
end
