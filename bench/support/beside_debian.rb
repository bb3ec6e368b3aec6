# frozen_string_literal: true

require_relative "../../rakelib/support/debian_root"

module Bench
  # The Debian of bench/beside.rb: a chroot in the user's cache with all contenders. Their commands
  # are prefixes of `chroot`, so that the harness runs them as it runs others.
  class BesideDebian
    ROOT_OF_ALL = Godwit::DebianRoot.new("trixie", %w[
      ruby-dev ruby-bundler build-essential pkg-config libssl-dev libzmq3-dev libczmq-dev
      python3-zmq
    ])
    INSIDE = Godwit::DebianRoot::INSIDE
    GEMFILES = File.join(FOLDER, "gemfiles", "beside")
    GEMS = "/gems" # stays in the root, and holds what GEMFILES names
    GODWIT = "#{INSIDE}/gems"
    ROLES = %i[push pull req rep together].freeze
    # Prints the versions of all that is compared, as JSON.
    VERSIONS = <<~'RUBY'
      require "godwit"
      require "ffi-rzmq"
      require "cztop"
      require "omq"
      python = %q(import sys, zmq
      print(zmq.__version__, zmq.zmq_version(), sys.version.split()[0]))
      pyzmq, *zmq, version = `python3 -c '#{python}'`.split
      c = JSON.parse(`c/together push inproc://x 1 2`)["libzmq"]
      puts JSON.generate(
        "godwit" => Godwit::VERSION,
        "libzmq" => [c, *zmq, CZMQ::FFI::ZMQ_VERSION, LibZMQ.version.values.join("."),
          Godwit.libzmq_version].uniq.join(" and "),
        "Ruby" => "#{RUBY_VERSION}p#{RUBY_PATCHLEVEL} (no JIT)",
        "OMQ" => OMQ::VERSION, "Async" => Async::VERSION,
        "CZTop" => "#{CZTop::VERSION} on CZMQ #{CZMQ::FFI::CZMQ_VERSION}",
        "ffi-rzmq" => ZMQ::VERSION, "pyzmq" => "#{pyzmq} on Python #{version}",
        "gcc" => `gcc -dumpfullversion`.strip
      )
    RUBY

    # @return [String, nil] why there can be none
    def self.missing
      Godwit::DebianRoot.missing ||
        ("#{ROOT_OF_ALL.name} is not made: rake bench:beside" if Bench.quick? && !made?)
    end

    def self.made? = File.directory?(Godwit::DebianSource.cache(ROOT_OF_ALL.name))

    # @yieldparam debian [BesideDebian] with this checkout's godwit
    def self.open
      ROOT_OF_ALL.work do |folder|
        yield new(folder).tap(&:install)
      end
    end

    attr_reader :versions

    def initialize(folder)
      @folder = folder
      @endpoints = Bench.endpoints_in(INSIDE)
    end

    def install
      %w[resolv.conf ssl/certs/ca-certificates.crt].each do |path|
        FileUtils.cp("/etc/#{path}", "#{ROOT_OF_ALL.folder}/etc/#{path}")
      end
      FileUtils.cp_r([*%w[c python ruby].map { |name| File.join(FOLDER, name) },
        *Dir["#{GEMFILES}/*"]], @folder)
      install_gems
      Programs::C_NAMES.values_at(*ROLES).each { |name| compile(name) }
      @versions = JSON.parse(run("ruby", "-rjson", "-e", VERSIONS).lines.last)
    end

    # @param form [Symbol] :processes, with a role; :threads, :reactors or :fibers, with :together
    # @return [Array<String>] without the arguments
    def command(kind, role, form = :threads)
      program =
        case kind
        when :c then ["c/#{Programs::C_NAMES.fetch(role)}"]
        when :pyzmq then ["python3", "python/pyzmq_#{role}.py"]
        else ["ruby", *ruby(kind, role, form)]
        end
      ROOT_OF_ALL.inside(*program, chdir: INSIDE, env: variables.merge("BENCH_HOLD" => "1"))
    end

    # @return [String] for a program in it
    def endpoint(transport) = @endpoints.call(transport)

    # What {Section} prints of a machine.
    def line = "#{Machine.line}. Debian 13"

    def date = Machine.date

    def libzmqs = [versions.fetch("libzmq")]

    private

    # @return [Array<String>] a program, and the arguments that choose the library and its end
    def ruby(kind, role, form)
      return ["ruby/together.rb", kind.to_s, form.to_s] if role == :together
      return ["ruby/#{kind}_#{role}.rb"] if %i[godwit ffi_rzmq].include?(kind)
      ["ruby/apart.rb", kind.to_s, role.to_s]
    end

    def variables
      home = "#{GEMS}/ruby/3.3.0"
      {"GEM_HOME" => home, "GEM_PATH" => "#{GODWIT}:#{home}"}
    end

    def install_gems
      warn "installs the contenders, and this godwit, in #{ROOT_OF_ALL.name}"
      run("bundle", "install", "--quiet",
        env: {"BUNDLE_PATH" => GEMS, "BUNDLE_FROZEN" => "true", "BUNDLE_VERSION" => "system"})
      built = File.join(@folder, "godwit.gem")
      build = [RbConfig.ruby, "-S", "gem", "build", "godwit.gemspec", "--output", built]
      output, status = Open3.capture2e(Child::ENVIRONMENT, *build, chdir: ROOT)
      raise Failure, "gem build failed:\n#{output}" unless status.success?
      run("gem", "install", "--local", "--no-document", "--ignore-dependencies", "--install-dir",
        GODWIT, "godwit.gem")
    end

    def compile(name)
      run("gcc", *Programs::FLAGS, "-o", "c/#{name}", "c/#{name}.c", "-lzmq")
    end

    def run(*command, env: variables) = ROOT_OF_ALL.run(*command, chdir: INSIDE, env: env)
  end
end
