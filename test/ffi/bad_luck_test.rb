# frozen_string_literal: true

require "test_helper"
require "open3"

return if RUBY_ENGINE == "jruby" # these tests run on CRuby, and start JRuby themselves

require_relative "../../rakelib/support/jruby"

# The choice of the backend and of libzmq, and the errors without a usable libzmq. Child processes
# load Godwit as users do, on CRuby and on JRuby.
class BadLuckTest < Godwit::TestCase
  # PROGRAM tries the libraries in turn. Only the last one can be loaded.
  PROGRAM = <<~'RUBY'
    $VERBOSE = nil
    ARGV.each do |path|
      ENV["GODWIT_LIBZMQ"] = path
      begin
        require "godwit"
        pull = Godwit::PULL.bind("inproc://here")
        Godwit::PUSH.connect("inproc://here") << Godwit.libzmq_version
        puts "#{RUBY_ENGINE} #{Godwit::BACKEND} #{pull.recv(timeout: 5)}"
        puts File.read("/proc/self/maps").scan(%r{/\S*(?:libzmq|heron)\S*}).uniq
      rescue LoadError => error
        puts error.message, error.cause.inspect
      end
      puts "--"
    end
  RUBY
  INSTALL = [
    "Debian", "apt-get install libzmq5", "Fedora", "dnf install zeromq", "Alpine", "apk add libzmq",
    "macOS", "brew install zeromq", "GODWIT_LIBZMQ=/path/to/libzmq.so.5"
  ].freeze

  # @return [Array<String>] the output for each path
  def tried(ruby, paths, env = {})
    skip(Godwit::JRuby.missing) if ruby == :jruby && Godwit::JRuby.missing
    command = [RbConfig.ruby, "-rbundler/setup"]
    command = Godwit::JRuby.command(java: Godwit::JRuby.short) if ruby == :jruby
    env = {
      "GODWIT_BACKEND" => "ffi", "BUNDLE_GEMFILE" => File.expand_path("../../Gemfile", __dir__),
      "GODWIT_LIBZMQ" => nil, **env
    }
    child = start_command([*command, "-Ilib", "-e", PROGRAM, *paths], env: env, deadline: 60)
    assert_child(child.finish).stdout.split("--\n")
  end

  def own_libzmq
    File.readlines("/proc/self/maps").filter_map { |line| line[%r{/\S*libzmq\S*}] }.first
  end

  # @return [String] path of a library that has a zmq_version and nothing else
  def answering(name, *version)
    numbers = %w[a b c].zip(version).map { |letter, number| "*#{letter} = #{number};" }.join
    path = File.join(scratch_dir, name)
    text, status = Open3.capture2e("cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-",
      stdin_data: "void zmq_version(int *a, int *b, int *c) { #{numbers} }\n")
    assert_predicate status, :success?, text
    path
  end

  def assert_told(said, *words)
    [*words, *INSTALL].each { |word| assert_includes said, word }
    assert_match(/\nnil\n\z/, said, "a single error without a cause")
  end

  %i[cruby jruby].each do |ruby|
    test "GODWIT_LIBZMQ chooses a library, and a bad one is reported (#{ruby})" do
      text = File.join(scratch_dir, "text.so")
      File.write(text, "no library, but longer than the header of one" * 9)
      heron = File.join(scratch_dir, "heron.so.1").tap { |path| FileUtils.cp(own_libzmq, path) }
      old = answering("old.so", 4, 2, 5)
      lacking = answering("lacking.so", 4, 3, 4)
      looked = ->(path) { "looked for #{path} in GODWIT_LIBZMQ" }
      first = answering("libzmq.so.5", 4, 2, 5)
      words = {
        # GODWIT_LIBZMQ is empty: the loader searches LD_LIBRARY_PATH before the system's folders.
        "" => ["Godwit needs libzmq 4.3 or newer: libzmq.so.5 is 4.2.5"],
        "/nowhere/libzmq.so.5" => ["libzmq was not found: #{looked["/nowhere/libzmq.so.5"]}",
          "the loader said: ", "No such file or directory"],
        scratch_dir =>
          ["libzmq could not be loaded: #{looked[scratch_dir]}", "Is a directory"],
        text => ["libzmq could not be loaded: #{looked[text]}", "invalid ELF header"],
        old => ["Godwit needs libzmq 4.3 or newer: #{old} is 4.2.5"],
        lacking => ["#{lacking} is no libzmq that Godwit knows: ", "zmq_has"],
        "libc.so.6" => ["libc.so.6 is no libzmq that Godwit knows: ", "zmq_version"]
      }
      *bad, good = tried(ruby, [*words.keys, heron], "LD_LIBRARY_PATH" => scratch_dir)
      words.each_value { |expected| assert_told(bad.shift, *expected) }
      engine = {cruby: "ruby", jruby: "jruby"}.fetch(ruby)
      assert_equal ["#{engine} ffi #{Godwit.libzmq_version}", heron],
        good.lines(chomp: true) - [first]
    end
  end

  LOAD = <<~RUBY
    begin
      require "godwit"
      puts Godwit::BACKEND
    rescue LoadError => error
      puts error.message, error.cause.inspect
    end
  RUBY

  test "GODWIT_BACKEND chooses the backend, and may override an engine's; an unknown one is " \
    "refused" do
    {"ffi" => "ffi\n", "" => "native\n", nil => "native\n",
     "fii" => "GODWIT_BACKEND takes native or ffi: got \"fii\"\nnil\n"}.each do |value, printed|
      result = assert_child(run_child(LOAD, gems: true, env: {"GODWIT_BACKEND" => value}))
      assert_equal printed, result.stdout
    end
    assert_equal %w[ffi ffi native],
      %w[jruby truffleruby ruby].map { |engine| Godwit::Backend.choose(nil, engine) }
    assert_equal "native", Godwit::Backend.choose("native", "jruby")
  end

  # This machine has a libzmq. So a stub in the child refuses every library whose name has "libzmq".
  test "no libzmq anywhere: the error lists the names and folders" do
    deaf = <<~'RUBY'
      require "ffi"
      FFI::DynamicLibrary.singleton_class.prepend(Module.new do
        def open(name, *)
          return super unless name.to_s.include?("libzmq")
          says = ENV.fetch("SAYS").sub("NAME", name)
          raise LoadError, "Could not open library '#{name}': #{says}"
        end
      end)
    RUBY
    said = lambda do |says|
      env = {"GODWIT_BACKEND" => "ffi", "LD_LIBRARY_PATH" => "/here", "SAYS" => says}
      assert_child(run_child(deaf + LOAD, gems: true, env: env)).stdout
    end
    absent = said["NAME: cannot open shared object file: No such file or directory"]
    assert_told(
      absent,
      "libzmq was not found: looked for libzmq.so.5, libzmq.so in LD_LIBRARY_PATH (\"/here\"), " \
      "the system's library folders, ",
      "/usr/local/lib",
      "the loader said: Could not open library 'libzmq.so.5': libzmq.so.5: cannot open"
    )
    assert_equal 1, absent.scan("Could not open").size
    broken = said["libsodium.so.23: wrong ELF class"]
    assert_told(
      broken, "libzmq could not be loaded: looked for libzmq.so.5, libzmq.so", "wrong ELF class"
    )
  end

  test "without the gem ffi it says how to get it; another system than Linux is named" do
    command = [RbConfig.ruby, "--disable-gems", "-rrbconfig", "-Ilib", "-e"]
    said = ["", "RbConfig::CONFIG['host_os'] = 'darwin22'\n"].map do |system|
      child = start_command([*command, system + LOAD], env: {"GODWIT_BACKEND" => "ffi"})
      assert_child(child.finish).stdout
    end
    assert_equal "Godwit's FFI backend needs the gem ffi: gem install ffi (JRuby and TruffleRuby " \
      "have it)\nnil\n", said.first
    assert_includes said.last,
      "Godwit runs on Linux only for now, since it waits with eventfd and epoll: this is darwin22"
  end
end
