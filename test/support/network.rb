# frozen_string_literal: true

require "json"

module Godwit
  module TestSupport
    # Network namespaces of the kernel, for one test each. A namespace ends with its last process,
    # and the interfaces of the real machine do not change.
    module Network
      HERE = "10.77.0.1"
      THERE = "10.77.0.2"
      # A virtual cable between two interfaces: gw0 stays in the test's namespace, and gw1 moves to
      # a second namespace, which acts as another machine (see NetworkCase#there).
      WIRE = "ip link set lo up && ip link add gw0 type veth peer name gw1 && " \
        "ip addr add #{HERE}/24 brd + dev gw0 && ip link set gw0 up && ip link set gw1 up && " \
        "exec \"$@\""
      private_constant :WIRE

      class << self
        # @return [Array<String>] the command line that runs a command in a separate network
        def command(*command)
          [
            "unshare", *("--map-root-user" unless Process.uid.zero?), "--net", "sh", "-c", WIRE,
            "sh", *command
          ]
        end

        # @return [String, nil] why this system cannot create a namespace; nil if it can
        def missing
          return @missing if defined?(@missing)
          said = IO.popen(command("true"), err: %i[child out], &:read)
          why = "no network namespace with a veth pair can be made here: #{said.lines.first&.chomp}"
          @missing = $?.success? ? nil : why
        rescue SystemCallError => error
          @missing = "no network namespace can be made here: #{error.message}"
        end

        def id = File.readlink("/proc/self/ns/net")

        # @return [Boolean] whether this process runs in a namespace of {command}
        def inside? = !ENV["GODWIT_TEST_NETWORK"].nil? && ENV["GODWIT_TEST_NETWORK"] != id

        # @return [Array<String>] the command line that runs a command in the second namespace
        def there(*command) = ["nsenter", "--target", holder.pid.to_s, "--net", *command]

        # @raise [RuntimeError] outside of a test's namespace: the real interfaces must not change
        def run(*command)
          raise "not in a network of the tests' own" unless inside?
          system(*command, exception: true)
        end

        private

        # @return [IO] the process that holds the second namespace; it ends with this process
        def holder
          return @holder if @holder
          @holder = IO.popen(["unshare", "--net", "sh", "-c", "echo ready && exec cat"], "r+")
          @holder.gets
          run("ip", "link", "set", "gw1", "netns", @holder.pid.to_s)
          [%w[link set lo up], ["addr", "add", "#{THERE}/24", "brd", "+", "dev", "gw1"],
            %w[link set gw1 up]].each { |words| run(*there("ip", *words)) }
          @holder
        end
      end
    end
  end
end

# Tests that need their own network. The outer process runs the file once more, in an inner process
# in a namespace. Each outer test then reports the result of the same test in the inner process.
class NetworkCase < Godwit::TestCase
  Network = Godwit::TestSupport::Network
  RESULTS = "GODWIT_TEST_NETWORK_RESULTS"
  deadline 200

  class << self
    attr_reader :file
    attr_accessor :outcomes

    def inherited(subclass)
      super
      subclass.instance_variable_set(:@file, caller_locations(1, 1).first.absolute_path)
    end

    def test(sentence, &body)
      # standard:disable Style/SuperArguments -- another block
      super(sentence) { Network.inside? ? instance_exec(&body) : report_result }
      # standard:enable Style/SuperArguments
    end
  end

  def run
    return super unless Network.inside? && ENV[RESULTS]
    super.tap do |result|
      failures = result.failures.map { |failure| [failure.is_a?(Minitest::Skip), failure.message] }
      File.open(ENV[RESULTS], "a") do |file|
        file.puts JSON.generate([result.klass, result.name, result.assertions, failures])
      end
    end
  end

  # Starts a command in the second namespace, which acts as another machine.
  # @return [Godwit::TestSupport::Children::Child]
  def there(*command, **options)
    start_command(Network.there(*command), **options)
  end

  private

  def report_result
    skip Network.missing if Network.missing
    self.class.outcomes ||= run_inside
    assertions, failures = self.class.outcomes.fetch(name) do
      flunk "it did not run inside:\n#{self.class.outcomes[:output]}"
    end
    self.assertions += assertions
    failures.each { |skipped, message| skipped ? skip(message) : flunk(message) }
  end

  def run_inside
    path = File.join(scratch_dir, "results")
    env = {"GODWIT_TEST_NETWORK" => Network.id, RESULTS => path}
    seed = ["--seed", Minitest.seed.to_s] if Minitest.respond_to?(:seed) # no seed on JRuby
    command = [*Godwit::TestSupport::Children::RUBY, "-Ilib", "-Itest", self.class.file, *seed]
    env = Godwit::TestSupport::Children::PAGES.merge(env)
    result = start_command(Network.command(*command), deadline: 180, env: env).finish
    lines = File.exist?(path) ? File.readlines(path).map { |line| JSON.parse(line) } : []
    if lines.all? { |*, failures| failures.all?(&:first) } && !result.success?
      flunk "it failed inside as a whole:\n#{result}"
    end
    lines
      .select { |klass, *| klass == self.class.name }
      .to_h { |_, test, *rest| [test, rest] }
      .merge(output: result.to_s)
  end
end
