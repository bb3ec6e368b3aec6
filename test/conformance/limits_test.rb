# frozen_string_literal: true

# libzmq: test_many_sockets, test_system

require_relative "case"

# Too many sockets or descriptors cause an error. They do not end the process.
class LimitsTest < Conformance::Case
  LIMIT = (RUBY_ENGINE == "jruby") ? 200 : 40 # open descriptors; Java itself opens many files

  test "max_sockets: counts the user's sockets, not sockets that Godwit opens internally" do
    small = own(Godwit::Context.new(max_sockets: 4))
    sockets = Array.new(4) { own(small.socket(:PULL)).bind(endpoint_for(:tcp)) }
    sockets.each { |pull| assert_flows(open_socket(:PUSH).connect(pull.last_endpoint), pull) }
  end

  # Runs in a child with a limit of open descriptors. A call that lacks a descriptor must raise, and
  # the child must end normally. bin/test tries every fourth limit up to 40, `--full` every limit.
  LOW = <<~RUBY
    require "godwit"
    require "json"
    limit = ARGV[0].to_i + Dir.children("/proc/self/fd").size
    Process.setrlimit(Process::RLIMIT_NOFILE, limit, limit)
    sockets = []
    outcome = {}
    begin
      ctx = Godwit::Context.new(linger: 0)
      loop do
        pull = ctx.socket(:PULL)
        sockets << pull
        pull.bind("tcp://127.0.0.1:*")
        push = ctx.socket(:PUSH)
        sockets << push
        push.connect(pull.last_endpoint)
        push.send("x", timeout: 0.2)
        pull.recv(timeout: 0.2)
      end
    # libzmq had no descriptor to connect or accept with; it retries by itself
    rescue Godwit::TimeoutError
      outcome[:quiet] = true
      retry if (outcome[:tries] = outcome[:tries].to_i + 1) < 3
    rescue SystemCallError => error
      outcome[:error] = error.class.name
      outcome[:message] = error.message
    end
    outcome[:sockets] = sockets.size
    sockets.each(&:close)
    puts outcome.to_json
  RUBY

  test "too many descriptors: an error from the first socket on, at every limit" do
    not_on :jruby, "Java itself fails where no descriptor is left"
    limits = (0..40).step(Godwit::TestSupport::Length.of(4, long: 1))
    outcomes = limits.each_slice(4).flat_map do |some|
      children = some.map { |extra| [extra, start_child(LOW, [extra], deadline: 25)] }
      children.map { |extra, child| [extra, child.finish] }
    end
    outcomes = outcomes.to_h { |extra, result| [extra, assert_low(extra, result)] }
    assert_equal 0, outcomes[0]["sockets"]
    assert_operator outcomes[40]["sockets"], :>, 2
  end

  def assert_low(extra, result)
    assert result.success?, "with #{extra} descriptors: #{result}"
    outcome = JSON.parse(result.stdout)
    return outcome if outcome["quiet"] && !outcome["error"]
    assert_equal "Godwit::TooManySocketsError", outcome["error"],
      "with #{extra} descriptors: #{outcome}"
    assert_match(/ulimit -n/, outcome["message"])
    outcome
  end

  test "with a shell's ulimit -n: accepted messages arrive, and with free descriptors it accepts " \
    "again" do
    result = start_command(["sh", "-c", "ulimit -n #{LIMIT}; exec \"$@\"", "sh", *RUBY, "-W",
      "-Ilib", "-e", <<~'RUBY'], deadline: 20).finish
        require "godwit"
        pull = Godwit::PULL.bind("tcp://127.0.0.1:*", count_peers: false)
        push = Godwit::PUSH.connect(pull.last_endpoint, count_peers: false)
        push << "connected" # a connection needs descriptors
        puts pull.recv(timeout: 10)
        push << "before"
        more = []
        begin
          loop { more << Godwit::PAIR.new(linger: 0) }
        rescue Godwit::TooManySocketsError => error
          puts "raised after #{more.size}: #{error.message}"
        end
        puts pull.recv(timeout: 10)
        more.each(&:close)
        finish = Process.clock_gettime(Process::CLOCK_MONOTONIC) + 10
        begin
          Godwit::PAIR.new.close
        rescue Errno::EMFILE # libzmq closes the descriptors of closed sockets in the background
          Thread.pass
          retry if Process.clock_gettime(Process::CLOCK_MONOTONIC) < finish
          raise
        end
        push << "after"
        puts pull.recv(timeout: 10)
      RUBY
    assert_child result
    assert_match(/\Aconnected\nraised after \d+: .*ulimit -n.*\nbefore\nafter\n/, result.stdout)
  end

  test "a wait needs a descriptor: without one it raises, and the socket stays usable" do
    not_on :jruby, "Java itself fails where no descriptor is left"
    result = run_child(<<~'RUBY', deadline: 20)
      require "godwit"
      pull = Godwit::PAIR.bind("inproc://x")
      push = Godwit::PAIR.connect("inproc://x")
      files = take_descriptors(30)
      begin
        pull.recv(timeout: 30)
      rescue Godwit::TooManySocketsError => error
        puts "raised: #{error.operation}"
      end
      push << "x"
      puts pull.recv(timeout: 30)
      files.each(&:close)
      puts pull.recv(timeout: 0.01, exception: false).inspect
    RUBY
    assert_child result
    assert_equal "raised: recv\nx\nnil\n", result.stdout
  end
end
