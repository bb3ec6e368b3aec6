# frozen_string_literal: true

require "test_helper"
require "open3"
require_relative "../gem_index"
require_relative "../../../rakelib/support/native_check"
require_relative "../../../rakelib/support/native_gem"

# The faults that `rake package:check` finds in a platform gem.
class NativeCheckTest < Godwit::TestCase
  NativeCheck = Godwit::NativeCheck
  EXTENSION = "lib/godwit/3.1/godwit_ext.so"
  INIT = "void Init_godwit_ext(void) {}\n"
  LIBZMQ = Godwit::NativeGem.libzmq_version
  # C code of an extension that has every fault.
  FAULTY = <<~C
    #{INIT}
    void zmq_send(void) {}
    void newer(void);
    static void (*volatile called)(void) = newer;
    static const char *volatile where = "/tmp/build/socket.c";
    __asm__(".text\\n.quad Init_godwit_ext");
  C

  def setup
    super
    NativeCheck::LICENSES.each { |file, sentence| write(file, sentence) }
    compile(INIT)
  end

  def write(file, text)
    FileUtils.mkdir_p(File.dirname("#{scratch_dir}/#{file}"))
    File.binwrite("#{scratch_dir}/#{file}", text)
  end

  def compile(source, *flags, to: EXTENSION)
    write(to, "")
    text, status = Open3.capture2e("cc", "-shared", "-fPIC", "-x", "c", "-", "-o",
      "#{scratch_dir}/#{to}", *flags, stdin_data: source)
    assert_predicate status, :success?, text
  end

  # @return [String] path of a library of that name
  def library(name, source, *flags)
    compile(source, "-nostdlib", "-Wl,-soname,#{name}", *flags, to: name)
    "#{scratch_dir}/#{name}"
  end

  # @yieldparam spec [Gem::Specification]
  # @return [Array<String>] faults of a gem that has the files of the test's folder
  def faults(rubies: ["3.1"], libzmq: LIBZMQ, &change)
    gem = Dir.chdir(scratch_dir) do
      Godwit::GemIndex.stub(scratch_dir, "godwit", "x86_64-linux") do |spec|
        spec.files = Dir["**/*"].select { |path| File.file?(path) }
        spec.add_dependency("logger")
        change&.call(spec)
      end
    end
    NativeCheck.new(gem, rubies: rubies, libzmq: libzmq).faults(Dir.mktmpdir(nil, scratch_dir))
  end

  test "a gem without a fault has none" do
    assert_empty faults
  end

  test "an extension: a library that is not in glibc, a glibc newer than README says, " \
    "a second exported name, TEXTREL, a path of the build" do
    write("versions", "GLIBC_9.99 { newer; };")
    libraries = [
      library("libodd.so.1", "void odd(void) {}"),
      library("libc.so.6", "void newer(void) {}",
        "-Wl,--version-script=#{scratch_dir}/versions")
    ]
    compile(FAULTY, "-Wl,-z,notext", "-x", "none", "-Wl,--no-as-needed", *libraries)
    assert_equal ["it loads libodd.so.1", "it exports zmq_send", "it has TEXTREL",
      "it requires glibc 9.99", "it has the path /tmp/build/socket.c"]
      .map { |fault| "#{EXTENSION}: #{fault}" }, faults
  end

  test "a gem: too many bytes, a dependency, an extension to compile, a license without its " \
    "sentence, a missing license, pages with another libzmq, a missing extension" do
    write("noise", Random.bytes(NativeCheck::MOST))
    write("extconf.rb", "")
    write("LICENSE", "all rights reserved")
    File.delete("#{scratch_dir}/licenses/sha1.txt")
    found = faults(rubies: %w[3.1 3.9], libzmq: "9.9.9") do |spec|
      spec.add_dependency("ffi")
      spec.extensions = ["extconf.rb"]
    end
    assert_match(/\A\d+ bytes, over #{NativeCheck::MOST}\z/o, found.shift)
    pages = NativeCheck::PAGES.map { |page|
      "#{page} says #{LIBZMQ.inspect}, not 9.9.9 (#{NativeCheck::LIBZMQ.source})"
    }
    assert_equal ["it needs logger, ffi", "it has extensions to compile", "LICENSE lacks its text",
      "licenses/sha1.txt lacks its text", *pages, "lib/godwit/3.9/godwit_ext.so is missing"], found
  end
end
