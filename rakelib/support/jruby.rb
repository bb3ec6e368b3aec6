# frozen_string_literal: true

require "digest"
require "fileutils"
require "open3"
require "rubygems"

module Godwit
  # JRuby from the gem jruby-jars, on the machine's Java.
  module JRuby
    ROOT = File.expand_path("../..", __dir__)

    # Without these JRuby cannot give a child process its pipes.
    OPENED =
      %w[java.io sun.nio.ch java.nio.channels]
        .flat_map { |package| ["--add-opens", "java.base/#{package}=ALL-UNNAMED"] }
        .freeze

    # For short programs, which end before Java's second compiler or a parallel collector pays off:
    # this halves their time.
    SHORT = %w[-XX:TieredStopAtLevel=1 -XX:+UseSerialGC].freeze

    # A program that loads the classes that tests need.
    EXERCISE = <<~RUBY
      %w[godwit json logger set socket stringio tempfile tmpdir timeout].each do |library|
        require library
      end
      Godwit::REQ.connect(Godwit::REP.bind("tcp://127.0.0.1:*").last_endpoint).send("x")
      Thread.new { Thread.pass }.join
    RUBY

    # Bundler's hold on this process is on CRuby's gems.
    ENVIRONMENT =
      %w[RUBYOPT RUBYLIB GEM_HOME GEM_PATH BUNDLE_GEMFILE BUNDLER_SETUP]
        .to_h { |name| [name, nil] }
        .freeze

    module_function

    # @param arguments [Array<String>] of jruby
    # @param java [Array<String>] options of Java
    # @return [Array<String>] the command line that runs them
    # @raise [LoadError] when the gem is not there
    def command(*arguments, java: [])
      ["java", *OPENED, *java, "-cp", jars.join(":"), "org.jruby.Main", *arguments]
    end

    # As {SHORT}, with JRuby's classes as Java had them in its memory: a third less for a program
    # that does little. See {prepare}.
    # @return [Array<String>] options of Java, which does without the file where it is not there, or
    #   another Java's
    def short = [*SHORT, "-XX:SharedArchiveFile=#{archive}"]

    # Has Java write {short}'s file, unless it is there: ten seconds.
    def prepare
      return if File.exist?(archive)
      FileUtils.mkdir_p(File.dirname(archive))
      unfinished = "#{archive}.#{Process.pid}"
      system(
        ENVIRONMENT,
        *command("-Ilib", "-e", EXERCISE, java: [*SHORT, "-XX:ArchiveClassesAtExit=#{unfinished}"]),
        chdir: ROOT, out: File::NULL, err: File::NULL
      )
      File.rename(unfinished, archive) if File.exist?(unfinished)
    end

    # @return [String, nil] why there is no JRuby here
    def missing
      jars
      "java is not installed (bin/setup does it)" unless system("command -v java >/dev/null 2>&1")
    rescue LoadError => error
      error.message
    end

    # The environment of tests: JRuby from its jars does not know the command that runs it, and they
    # start children.
    # @return [Hash{String => String, nil}]
    def testing = ENVIRONMENT.merge("GODWIT_TEST_JRUBY" => command(java: short).join("\n"))

    # @return [Array<String>] jars in the folder that GODWIT_JRUBY_JARS names, or those of the gem,
    #   in the bundle's folder or in RubyGems' folders
    # @raise [LoadError]
    def jars
      @jars ||= begin
        folder = ENV.fetch("GODWIT_JRUBY_JARS") { File.join(gem_folder, "lib") }
        found = Dir[File.join(folder, "*.jar")].sort
        raise LoadError, "no jar in #{folder} (GODWIT_JRUBY_JARS names a folder)" if found.empty?
        found
      end
    end

    def gem_folder
      Dir[File.join(ROOT, "vendor/bundle/ruby/*/gems/jruby-jars-*")].max ||
        Gem::Specification.find_by_name("jruby-jars").full_gem_path
    rescue Gem::LoadError
      raise LoadError, "the gem jruby-jars is not installed (bin/setup does it)"
    end

    # @return [String] path, another for each Java and JRuby
    def archive
      @archive ||= begin
        java, = Open3.capture2e("java", "-version")
        inputs = [java, *jars.flat_map { |jar| [jar, File.mtime(jar).to_i] }]
        File.join(ROOT, "tmp", "jruby-#{Digest::SHA256.hexdigest(inputs.join("\n"))[0, 16]}.jsa")
      end
    end
  end
end
