# frozen_string_literal: true

require "work_helper"

# Tests which librdkafka Work loads.
class WorkKafkaLibraryTest < Godwit::WorkCase
  Library = Godwit::Work.const_get(:Kafka)::Library

  # The load path of children, without the gem ffi: only the stage kafka adds that gem.
  def child_folders = super.grep_v(%r{/ffi-\d})

  # @return [String] the path of a new library that reports this version of librdkafka
  def library(version)
    path = File.join(scratch_dir, "#{version}.so")
    source = "const char *rd_kafka_version_str(void) { return \"#{version}\"; }"
    IO.popen(%w[cc -shared -fPIC -x c - -o] << path, "w") { |cc| cc.write(source) }
    assert_path_exists path
    path
  end

  test "the first library that loads and is new enough is taken" do
    old, newer, newest = %w[2.0.2 2.3.0-RC1 10.0.1].map { |version| library(version) }
    places = [["one", []], ["two", [old, "/no/such.so"]], ["three", [newer]], ["four", [newest]]]
    assert_equal [newer, "2.3.0-RC1"], Library.search(places).to_a
    assert_equal [newest, "10.0.1"], Library.search(places.rotate(3)).to_a
  end

  test "without one, the error has each place, its reason, and the command that fixes it" do
    old = library("2.2.9")
    error = assert_raises(LoadError) do
      Library.search([["the gem rdkafka", []], ["A", [old, "/no/such.so"]], ["B", ["libm.so.6"]]])
    end
    first, gem, one, other = error.message.lines(chomp: true)
    assert_match(/2\.3\.0 or newer is not there: type gem install karafka-rdkafka/, first)
    assert_equal "  the gem rdkafka: not there", gem
    assert_match(%r{\A  A: #{old} is librdkafka 2\.2\.9; .*/no/such\.so: .*No such file}, one)
    assert_match(/\A  B: libm\.so\.6 is another library/, other)
  end

  test "GODWIT_LIBRDKAFKA comes first, then the gems, then the system" do
    names = Library.__send__(:sources).map(&:first)
    assert_equal ["GODWIT_LIBRDKAFKA", "the gem karafka-rdkafka", "the gem rdkafka", "the system"],
      names
    env = {"GODWIT_LIBRDKAFKA" => library("3.4.5")}
    result = run_child(<<~RUBY, env: env, gems: true)
      require "godwit/work"
      found = Godwit::Work.const_get(:Kafka)::Library.find
      puts found.version, found.path, defined?(SQLite3).inspect
    RUBY
    assert_equal ["3.4.5", *env.values, "nil"], assert_child(result).stdout.lines(chomp: true)
  end

  test "the library of the gem karafka-rdkafka is found" do
    gems = ["vendor/kafka", *Gem.path].map { |path| File.expand_path(path) }.join(":")
    env = {"GEM_PATH" => gems, "GODWIT_LIBRDKAFKA" => "/no/such.so", "RUBYOPT" => nil,
           "GODWIT_WORK_URL" => "kafka://h"}
    ruby = [*RUBY, *FOLDERS.map { |folder| "-I#{folder}" }]
    result = start_command([*ruby, "work/exe/godwit-work", "version"], env: env).finish
    assert_includes assert_child(result).stdout, "\nlibrdkafka 2.11.0\n"
  end

  test "the newest version of a gem comes first" do
    gems = {"1.9.0" => "2.9.0", "1.10.0" => "2.10.0"}.map do |gem, version|
      ext = FileUtils.mkdir_p(File.join(scratch_dir, gem, "ext"))[0]
      FileUtils.mv(library(version), "#{ext}/librdkafka.so")
      Struct.new(:version, :full_gem_path).new(Gem::Version.new(gem), File.dirname(ext))
    end
    Gem::Specification.stub(:find_all_by_name, gems) do
      assert_equal "2.10.0", Library.search(Library.__send__(:sources).drop(1)).version
    end
  end

  test "without the gem ffi the error names the command; settings need no ffi" do
    result = run_child(<<~RUBY)
      require "godwit/work"
      one = Godwit::Work.const_get(:Kafka)::Settings
        .new("kafka+ssl://u:p@h", sasl: "PLAIN", kafka: {debug: "all"})
      one.producer
      one.consumer("g", 3)
      begin
        Godwit::Work.const_get(:Kafka)::Library.find
      rescue LoadError => error
        puts error.message
      end
    RUBY
    assert_match(/needs the gem ffi: type gem install karafka-rdkafka/, assert_child(result).stdout)
  end
end
