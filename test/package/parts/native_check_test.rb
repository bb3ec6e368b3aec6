# frozen_string_literal: true

require "test_helper"
require "open3"
require_relative "../gem_index"
require_relative "../../../rakelib/support/native_check"
require_relative "../../../rakelib/support/native_gem"

# What `rake package:check` finds wrong with a platform gem. Each gem has one fault.
class NativeCheckTest < Godwit::TestCase
  NativeCheck = Godwit::NativeCheck
  EXTENSION = "lib/godwit/3.1/godwit_ext.so"
  INIT = "void Init_godwit_ext(void) {}\n"
  LIBZMQ = Godwit::NativeGem.libzmq_version

  def compile(source, *flags, to: EXTENSION)
    path = "#{scratch_dir}/#{to}"
    FileUtils.mkdir_p(File.dirname(path))
    text, status = Open3.capture2e("cc", "-shared", "-fPIC", "-x", "c", "-", "-o", path, *flags,
      stdin_data: source)
    assert_predicate status, :success?, text
  end

  def write_licenses
    NativeCheck::LICENSES.each do |file, sentence|
      FileUtils.mkdir_p(File.dirname("#{scratch_dir}/#{file}"))
      File.write("#{scratch_dir}/#{file}", sentence)
    end
  end

  # @yieldparam spec [Gem::Specification]
  # @return [Array<String>] of the gem with the files of the test's folder
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

  def assert_fault(expected, source, *flags)
    write_licenses
    compile(source, *flags)
    assert_equal ["#{EXTENSION}: #{expected}"], faults
  end

  test "a gem without a fault has none" do
    write_licenses
    compile(INIT)
    assert_empty faults
  end

  # @return [Array<String>] flags that link a library of that name
  def library(name, source, *flags)
    compile(source, "-nostdlib", "-Wl,-soname,#{name}", *flags, to: "linked.so")
    ["-x", "none", "-Wl,--no-as-needed", "#{scratch_dir}/linked.so"]
  end

  test "a library that is no part of glibc" do
    assert_fault("it loads libodd.so.1", INIT, *library("libodd.so.1", "void odd(void) {}"))
  end

  test "a glibc that is newer than README says" do
    File.write("#{scratch_dir}/versions", "GLIBC_9.99 { newer; };")
    libc = library("libc.so.6", "void newer(void) {}",
      "-Wl,--version-script=#{scratch_dir}/versions")
    assert_fault("it requires glibc 9.99",
      "#{INIT}void newer(void);static void (*volatile called)(void) = newer;", *libc)
  end

  {"a second exported name" => ["it exports zmq_send", "void zmq_send(void) {}"],
   "TEXTREL" => ["it has TEXTREL", "__asm__(\".text\\n.quad Init_godwit_ext\");", "-Wl,-z,notext"],
   "a path of the build" => ["it has the path /tmp/build/socket.c",
     "static const char *volatile where = \"/tmp/build/socket.c\";"]}
    .each do |name, (expected, source, *flags)|
    test(name) { assert_fault(expected, INIT + source, *flags) }
  end

  test "a missing extension, a missing license, a license without its sentence" do
    write_licenses
    compile(INIT)
    File.delete("#{scratch_dir}/licenses/sha1.txt")
    File.write("#{scratch_dir}/LICENSE", "all rights reserved")
    assert_equal ["LICENSE lacks its text", "licenses/sha1.txt lacks its text",
      "lib/godwit/3.9/godwit_ext.so is missing"], faults(rubies: %w[3.1 3.9])
  end

  test "a dependency, an extension to compile, and too many bytes" do
    write_licenses
    compile(INIT)
    File.binwrite("#{scratch_dir}/noise", Random.bytes(NativeCheck::MOST))
    File.write("#{scratch_dir}/extconf.rb", "")
    found = faults do |spec|
      spec.add_dependency("ffi")
      spec.extensions = ["extconf.rb"]
    end
    assert_match(/\A\d+ bytes, over #{NativeCheck::MOST}\z/o, found.shift)
    assert_equal ["it needs logger, ffi", "it has extensions to compile"], found
  end

  test "pages with another libzmq" do
    write_licenses
    compile(INIT)
    assert_equal NativeCheck::PAGES.map { |page|
      "#{page} says #{LIBZMQ.inspect}, not 9.9.9 (#{NativeCheck::LIBZMQ.source})"
    }, faults(libzmq: "9.9.9")
  end
end
