# frozen_string_literal: true

require "test_helper"
require "open3"

# Errors when the extension, or its libzmq, cannot be loaded. There is no fallback to the other
# backend.
class NativeLoadingTest < Godwit::TestCase
  PROGRAM = <<~RUBY
    begin
      require "godwit"
      puts Godwit::BACKEND
    rescue LoadError => error
      puts error.message, error.cause.inspect
    end
  RUBY
  EXTENSION = File.expand_path("../../lib/godwit/godwit_ext.so", __dir__)

  # Runs PROGRAM with a copy of Godwit, and returns what PROGRAM prints. The block gets the bytes of
  # the extension, and returns the bytes of the copy's extension; nil: the copy has no extension.
  # @param ruby [String, nil] version of the only Ruby for which the copy, a platform gem, is built
  # @param system [String, nil] the operating system's name in RbConfig
  def said(env: {}, ruby: nil, system: nil)
    home = Dir.mktmpdir(nil, scratch_dir)
    FileUtils.cp_r(File.dirname(EXTENSION, 2), home)
    path = File.join(home, "lib/godwit/godwit_ext.so")
    bytes = yield File.binread(path)
    File.delete(path)
    path = File.join(home, "lib/godwit", *ruby, "godwit_ext.so")
    FileUtils.mkdir_p(File.dirname(path))
    File.binwrite(path, bytes) if bytes
    fake = "RbConfig::CONFIG['host_os'] = #{system.inspect}\n" if system
    command = [RbConfig.ruby, "-I#{home}/lib", "-e", "#{fake}#{PROGRAM}"]
    assert_child(start_command(command, env: {"GODWIT_BACKEND" => nil, **env}).finish).stdout
  end

  def assert_told(said, *words)
    words.each { |word| assert_includes said, word }
    assert_match(/\nnil\n\z/, said, "a single error without a cause")
  end

  OTHER_GEMS = <<~RUBY
    require "godwit"
    [-> { ZMQ::Context }, -> { Strng }, -> { require "godwit/work" }].each do |call|
      call.call
    rescue NameError, LoadError => error
      text = error.respond_to?(:detailed_message) ? error.detailed_message : error.message
      puts text.lines.map(&:strip).grep_v(/^$|\\^|->/)
    end
  RUBY

  test "the names of other gems: ZMQ has a compatibility layer, godwit/work a gem" do
    command = [RbConfig.ruby, "-Ilib", "-e", OTHER_GEMS]
    env = {"GEM_HOME" => scratch_dir, "GEM_PATH" => scratch_dir}
    said = assert_child(start_command(command, env: env).finish).stdout
    assert_equal <<~TEXT, said.gsub(/ \((?:Name|Load)Error\)/, "")
      uninitialized constant ZMQ
      Did you mean?  ruby -rgodwit/compat/rbczmq
      ruby -rgodwit/compat/ffi_rzmq
      uninitialized constant Strng
      Did you mean?  String
      godwit/work is in another gem: gem install godwit-work; in a Gemfile: gem "godwit-work"
    TEXT
  end

  OWN = RUBY_VERSION[/\A\d+\.\d+/]
  FIXES = ["gem install godwit --platform ruby", "gem \"godwit\", force_ruby_platform: true"].freeze

  test "a copy loads, and the platform gem's extension for this Ruby" do
    [nil, OWN].each { |ruby| assert_equal "native\n", said(ruby: ruby) { |bytes| bytes } }
  end

  test "where the platform gem does not run, the error says why, and how to get the source gem" do
    assert_told(said(ruby: "3.0") { |bytes| bytes },
      "it has extensions for Ruby 3.0, and this is #{RUBY_VERSION}", *FIXES,
      "the loader said: cannot load such file -- godwit/godwit_ext")
    assert_told(said(ruby: OWN, system: "linux-musl") { "x" * 99 },
      "it needs glibc, and this system has musl", *FIXES, "the loader said: ", "invalid ELF header")
    newer = said(ruby: OWN) { |bytes| bytes.gsub(/(?<=GLIBC_)2(?=\.\d+\0)/, "9") }
    assert_told(newer, "it needs glibc 9.", *FIXES, "not found")
    assert_told(said(ruby: OWN) { "no ELF " * 99 }, "its extension cannot be loaded", *FIXES,
      "invalid ELF header")
  end

  # name => [block that changes the extension's bytes, words of the error]
  {
    "without the extension there is no fallback, but advice how to get one" =>
      [->(_) {}, "C extension is not there (cannot load such file -- godwit/godwit_ext)",
        "gem pristine godwit", "bin/setup"],
    "without its libzmq the error lists names, folders, and the package to install" =>
      [->(bytes) { bytes.gsub("libzmq.so.5", "libzmq.so.9") },
        "libzmq was not found: looked for libzmq.so.5 in LD_LIBRARY_PATH (\"/here\"), " \
        "the system's library folders", "apt-get install libzmq5", "dnf install zeromq",
        "apk add libzmq", "brew install zeromq",
        "the loader said: libzmq.so.9: cannot open shared object file"],
    "a libzmq without a function that the extension calls: build it anew" =>
      [->(bytes) { bytes.gsub("zmq_unbind", "zmq_unbend") }, "C extension cannot be loaded",
        "gem pristine godwit", "undefined symbol: zmq_unbend"],
    "another Ruby's extension: build it anew" =>
      [->(bytes) { "no ELF " * bytes.size }, "C extension cannot be loaded", "bin/setup --force",
        "invalid ELF header"]
  }.each do |name, (change, *words)|
    test(name) { assert_told(said(env: {"LD_LIBRARY_PATH" => "/here"}, &change), *words) }
  end

  test "an old libzmq's error names the needed version" do
    names =
      Open3.capture2("nm", "-D", "--undefined-only", EXTENSION).first.scan(/\bzmq_\w+/) -
      ["zmq_version"]
    source = names.map { |name| "int #{name}(void) { return 0; }\n" }.join
    source << "void zmq_version(int *a, int *b, int *c) { *a = 4; *b = 2; *c = 5; }\n"
    library("#{scratch_dir}/libzmq.so.5", source)
    assert_told(
      said(env: {"LD_LIBRARY_PATH" => scratch_dir}) { |bytes| bytes },
      "Godwit needs libzmq 4.3 or newer: the one that the extension found is 4.2.5",
      "apt-get install libzmq5"
    )
  end

  test "with GODWIT_BACKEND=ffi and without a libzmq, the platform gem names its own" do
    own = "unset GODWIT_BACKEND: this gem has a libzmq of its own"
    env = {"GODWIT_BACKEND" => "ffi", "GODWIT_LIBZMQ" => "/nowhere/libzmq.so.5"}
    assert_told(said(env: env, ruby: OWN) { |bytes| bytes }, "libzmq was not found: looked for",
      "apt-get install libzmq5", own)
    refute_includes said(env: env) { |bytes| bytes }, own
  end

  # @param version [String, nil] of the libzmq that extconf.rb finds; nil: there is no libzmq
  # @return [String] the error of extconf.rb
  def extconf(version)
    home = Dir.mktmpdir(nil, scratch_dir)
    if version
      File.write("#{home}/zmq.h", <<~C)
        #define ZMQ_MAKE_VERSION(a, b, c) ((a) * 10000 + (b) * 100 + (c))
        #define ZMQ_VERSION ZMQ_MAKE_VERSION(#{version.tr(".", ",")})
        void *zmq_ctx_new(void);
      C
      library("#{home}/libzmq.so", "void *zmq_ctx_new(void) { return 0; }\n")
    end
    refused("--with-libzmq-include=#{home}", "--with-libzmq-lib=#{home}", words: LIBZMQ)
  end

  def library(path, source)
    text, status = Open3.capture2e("cc", "-shared", "-fPIC", "-w", "-fno-builtin", "-x", "c", "-o",
      path, "-", stdin_data: source)
    assert_predicate status, :success?, text
  end

  LIBZMQ = [
    "Install libzmq 4.3.0 or newer", "libzmq3-dev", "zeromq-devel", "zeromq-dev",
    "--with-libzmq-dir"
  ].freeze

  # Runs extconf.rb in an empty folder.
  # @param prelude [String] Ruby code that runs before extconf.rb
  # @return [Child::Result]
  def configured(*arguments, folder: "ext/godwit", prelude: "", env: {})
    script = File.expand_path("../../#{folder}/extconf.rb", __dir__)
    program = "#{prelude}\nDir.chdir(ARGV.shift); load ARGV.shift"
    command = [RbConfig.ruby, "-e", program, Dir.mktmpdir(nil, scratch_dir), script, *arguments]
    start_command(command, deadline: 30, env: env).finish
  end

  # @return [String] the error of extconf.rb: less than 24 lines, with each of these words once
  def refused(*arguments, words:, **settings)
    result = configured(*arguments, **settings)
    refute_predicate result.status, :success?
    words.each { |word| assert_equal 1, result.stderr.scan(/#{word}\b/).size, result.to_s }
    assert_operator result.to_s.lines.size, :<, 24
    result.stderr
  end

  test "a build without a compiler, without Ruby's headers or without libzmq's names the package" do
    words = ["build-essential ruby-dev", "gcc make redhat-rpm-config ruby-devel",
      "build-base ruby-dev"]
    assert_match(/\A\n\S+ compiles nothing here\./,
      refused(words: words, env: {"PATH" => scratch_dir}))
    work = configured(folder: "work/ext/kafka_ext", env: {"PATH" => scratch_dir})
    assert_match(/\A\ngodwit-work compiles .*: apt-get install build-essential ruby-dev$/,
      work.stderr)
    assert_match(/find header files for ruby/,
      refused(words: %w[ruby-devel], prelude: 'RbConfig::CONFIG["rubyhdrdir"] = "/nowhere"'))
    File.write("#{scratch_dir}/zmq.h", "#error it hides the system's")
    assert_match(/\A\nlibzmq or its header zmq\.h was not found\.\n/,
      refused("--with-cppflags=-I#{scratch_dir}", words: LIBZMQ,
        env: {"PKG_CONFIG_LIBDIR" => scratch_dir}))
  end

  test "extconf.rb takes the flags that --help names, and no others" do
    help = assert_child(configured("--help")).stdout
    assert_match(/--with-cflags=.*--with-ldflags.*CC, CFLAGS and LDFLAGS are not/m, help)
    ignored = %w[CC CFLAGS LDFLAGS].to_h { |name| [name, "-DGODWIT_#{name}"] }
    makefile = assert_child(configured("--with-cflags=-DGODWIT_OPTION", env: ignored,
      prelude: "at_exit { puts File.read('Makefile') }")).stdout
    assert_equal ["GODWIT_OPTION"], makefile.scan(/GODWIT_\w+/).uniq
    assert_match(/^CFLAGS .* -DGODWIT_OPTION /, makefile)
  end

  test "a build without libzmq, or with an old libzmq, names the package to install" do
    assert_match(/\A\n.* names folders without zmq.h or libzmq: /, extconf(nil))
    assert_match(/\A\nlibzmq was found, but it is older than 4.3.0.\n/, extconf("4.2.5"))
  end
end
