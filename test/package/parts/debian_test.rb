# frozen_string_literal: true

require "test_helper"
require_relative "../../../rakelib/support/debian_root"

# How Debian's sources are fetched, and commands run in a Debian.
class DebianTest < Godwit::TestCase
  DebianRoot = Godwit::DebianRoot
  DebianSource = Godwit::DebianSource

  # What DebianSource.fetch runs; apt-get writes a file.
  def fetching(sums)
    ran = []
    run = lambda do |*command, chdir:|
      ran << command.first
      File.write("#{chdir}/x.dsc", "x") if command.first == "apt-get"
      FileUtils.mkdir("#{chdir}/x-1") if command.first == "dpkg-source"
    end
    DebianSource.stub(:lists, []) do
      DebianSource.stub(:run, run) { DebianSource.fetch("x", scratch_dir, sums: sums) }
    end
  ensure
    @ran = ran
  end

  test "a source with its sum is unpacked" do
    assert_match %r{/x-1/\z}, fetching({"x.dsc" => Digest::SHA256.hexdigest("x")})
    assert_equal %w[apt-get dpkg-source], @ran
  end

  test "a source with another sum, or without a file, is refused before it is unpacked" do
    error = assert_raises(DebianSource::Failure) { fetching({"x.dsc" => "0" * 64}) }
    assert_equal "x.dsc has the SHA-256 sum #{Digest::SHA256.hexdigest("x").inspect}, " \
      "not #{"0" * 64}", error.message
    assert_equal %w[apt-get], @ran
    FileUtils.rm_rf("#{scratch_dir}/source")
    error = assert_raises(DebianSource::Failure) { fetching({"y.dsc" => "0" * 64}) }
    assert_match(/\Ay.dsc has the SHA-256 sum nil/, error.message)
  end

  test "what is missing is named in one line" do
    program = "require './rakelib/support/debian_root'; " \
      "Process.define_singleton_method(:uid) { ARGV.first.to_i }; puts Godwit::DebianRoot.missing"
    {"1" => "root is needed, for debootstrap and chroot\n",
     "0" => "Debian is needed: this system has no apt-get\n"}.each do |uid, text|
      command = [RbConfig.ruby, "-e", program, uid]
      assert_equal text, start_command(command, env: {"PATH" => scratch_dir}).finish.stdout
    end
  end

  # The process and the mount live in namespaces that end with the command.
  ENDLESS = <<~RUBY
    require "./rakelib/support/debian_root"
    folder = ARGV.first
    words = "mount -t tmpfs none \#{folder} && touch \#{folder}.begun; sleep infinity; true"
    Godwit::DebianRoot.isolated("sh", "-c", words)
  RUBY

  # @return [Array<String>] command lines of processes that name the folder, and mounts on it
  def remains(folder)
    lines = Dir["/proc/[0-9]*/cmdline"].map { |path|
      begin
        File.read(path)
      rescue SystemCallError
        ""
      end
    }
    [*lines, *File.readlines("/proc/mounts")].select { |line| line.include?(folder) }
  end

  {"Ctrl-C" => [:INT, -1], "an interrupt of Ruby alone" => [:INT, 1],
   "SIGTERM" => [:TERM, 1], "kill -9" => [:KILL, 1]}.each do |name, (signal, group)|
    test "after #{name} no process and no mount is left" do
      skip DebianRoot.missing if DebianRoot.missing
      folder = "#{scratch_dir}/mounted"
      FileUtils.mkdir(folder)
      child = start_command([RbConfig.ruby, "-e", ENDLESS, folder])
      eventually { File.exist?("#{folder}.begun") }
      Process.kill(signal, group * child.pid)
      eventually { remains(folder).empty? }
      refute_predicate child.finish.status, :success?
      assert_empty Dir.children(folder)
    end
  end
end
