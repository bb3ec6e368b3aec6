# frozen_string_literal: true

require "test_helper"
require "open3"

return if RUBY_ENGINE == "jruby" # it starts JRuby itself

require_relative "../../rakelib/support/jruby"

# No libzmq, a wrong one, several; each is loaded as users load it, on CRuby and on JRuby.
class BadLuckTest < Godwit::TestCase
  # Tries each library in turn; only the last may load.
  PROGRAM = <<~'RUBY'
    $VERBOSE = nil
    ARGV.each do |path|
      ENV["GODWIT_LIBZMQ"] = path
      begin
        require "godwit"
        pull = Godwit::PULL.bind("inproc://here")
        Godwit::PUSH.connect("inproc://here") << Godwit.libzmq_version
        puts "#{RUBY_ENGINE} #{Godwit::BACKEND} #{pull.recv(timeout: 5)}"
        puts File
               .readlines("/proc/self/maps")
               .filter_map { |line| line[%r{/\S*(?:libzmq|heron)\S*}] }
               .uniq
      rescue LoadError => error
        puts error.message, error.cause.inspect
      end
      puts "--"
    end
  RUBY
  INSTALL = [
    "Debian", "apt-get install libzmq5", "Fedora", "dnf install zeromq", "Alpine", "apk add libzmq",
    "macOS", "brew install zeromq"
  ].freeze

  # @return [Array<String>] the output for each path
  def tried(ruby, paths, env = {})
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

  def library(name, source)
    path = File.join(scratch_dir, name)
    text, status =
      Open3.capture2e("cc", "-shared", "-fPIC", "-x", "c", "-o", path, "-", stdin_data: source)
    assert_predicate status, :success?, text
    path
  end

  def answering(name, *version)
    library(
      name,
      "void zmq_version(int *a, int *b, int *c) { *a = #{version[0]}; *b = #{version[1]}; *c " \
      "= #{version[2]}; }\n"
    )
  end

  def assert_told(said, *words)
    [*words, *INSTALL, "GODWIT_LIBZMQ=/path/to/libzmq.so.5"].each do |word|
      assert_includes said, word
    end
    assert_match(/\nnil\n\z/, said, "a single error without a cause")
  end

  %i[cruby jruby].each do |ruby|
    test "GODWIT_LIBZMQ chooses a library, and a bad one is reported (#{ruby})" do
      skip(Godwit::JRuby.missing) if ruby == :jruby && Godwit::JRuby.missing
      text =
        File
          .join(scratch_dir, "text.so")
          .tap { |path| File.write(path, "no library, but longer than the head of one" * 9) }
      heron = File.join(scratch_dir, "heron.so.1").tap { |path| FileUtils.cp(own_libzmq, path) }
      old = answering("old.so", 4, 2, 5)
      lacking = answering("lacking.so", 4, 3, 4)
      said =
        tried(ruby, ["/nowhere/libzmq.so.5", scratch_dir, text, old, lacking, "libc.so.6", heron])
      assert_told(
        said[0], "libzmq was not found: looked for /nowhere/libzmq.so.5 in GODWIT_LIBZMQ",
        "the loader said: ", "No such file or directory"
      )
      assert_told(
        said[1], "libzmq could not be loaded: looked for #{scratch_dir} in GODWIT_LIBZMQ",
        "Is a directory"
      )
      assert_told(
        said[2], "libzmq could not be loaded: looked for #{text} in GODWIT_LIBZMQ",
        "invalid ELF header"
      )
      assert_told(said[3], "Godwit needs libzmq 4.3 or newer: #{old} is 4.2.5")
      assert_told(said[4], "#{lacking} is no libzmq that Godwit knows: ", "zmq_has")
      assert_told(said[5], "libc.so.6 is no libzmq that Godwit knows: ", "zmq_version")
      engine = {cruby: "ruby", jruby: "jruby"}.fetch(ruby)
      assert_equal ["#{engine} ffi #{Godwit.libzmq_version}", heron], said[6].lines(chomp: true)
    end

    test "the loader's own folders come first, and an old library there is reported (#{ruby})" do
      skip(Godwit::JRuby.missing) if ruby == :jruby && Godwit::JRuby.missing
      answering("libzmq.so.5", 4, 2, 5)
      said = tried(ruby, [""], "LD_LIBRARY_PATH" => scratch_dir)
      assert_told(said[0], "Godwit needs libzmq 4.3 or newer: libzmq.so.5 is 4.2.5")
    end
  end

  # This machine has a libzmq, so the loader is made to refuse its name.
  test "no libzmq anywhere: the error lists the names and folders" do
    deaf = <<~'RUBY'
      require "ffi"
      FFI::DynamicLibrary.singleton_class.prepend(Module.new do
        def open(name, *)
          if name.to_s.include?("libzmq")
            raise LoadError,
                  "Could not open library '#{name}': #{ENV.fetch("SAYS").sub("NAME", name)}"
          end
          super
        end
      end)
      begin
        require "godwit"
      rescue LoadError => error
        puts error.message, error.cause.inspect
      end
    RUBY
    said = lambda do |says|
      assert_child(
        run_child(
          deaf,
          gems: true,
          env: {
            "GODWIT_BACKEND" => "ffi", "LD_LIBRARY_PATH" => "/here", "SAYS" => says
          }
        )
      ).stdout
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
    program = <<~RUBY
      RbConfig::CONFIG["host_os"] = ARGV.first if ARGV.first
      begin
        require "godwit"
      rescue LoadError => error
        puts error.message, error.cause.inspect
      end
    RUBY
    # with no gems at all
    command = [RbConfig.ruby, "--disable-gems", "-rrbconfig", "-Ilib", "-e", program]
    said = assert_child(start_command(command, env: {"GODWIT_BACKEND" => "ffi"}).finish).stdout
    assert_equal "Godwit's FFI backend needs the gem ffi: gem install ffi (JRuby and TruffleRuby " \
      "have it)\nnil\n",
      said
    said =
      assert_child(
        start_command([*command, "darwin22"], env: {"GODWIT_BACKEND" => "ffi"}).finish
      ).stdout
    assert_includes said,
      "Godwit runs on Linux only for now, since it waits with eventfd and epoll: " \
      "this is darwin22"
  end
end
