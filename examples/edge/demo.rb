# frozen_string_literal: true

# `rake edge:demo` and a scene of bin/demo: the article's application behind nginx, with a Redis of
# its own that is killed under load.
#
#   ruby examples/edge/demo.rb [SECONDS of each measurement]
require "open3"
require "socket"
require "tmpdir"
require_relative "../../rakelib/support/edge_build"

# Runs the programs, and ends all that it has started.
class EdgeDemo
  DEADLINE = 10 # seconds until a server answers: it catches a hang
  ARTICLE = {"hello" => "120,000", "/json_api/" => "28,326"}.freeze # requests/s, in 2015
  COMMAND = File.expand_path("../../edge/exe/godwit-edge", __dir__)

  def initialize(folder, seconds)
    @folder = folder
    @seconds = seconds
    @pids = []
    @store, *ports = free_ports(3)
    @urls = ARTICLE.keys.zip(ports).to_h { |name, port| [name, "http://127.0.0.1:#{port}/"] }
    @urls["/json_api/"] += "json_api/"
  end

  def run
    redis
    serve("hello", "hello.rb")
    serve("/json_api/", "json_api.rb", "--mount", "/json_api/")
    show_answer
    ARTICLE.each { |name, rate| measure(name, rate) }
    break_redis
  ensure
    @pids.reverse_each { |pid| stop(pid) }
  end

  private

  def show_answer
    puts "curl -i #{json}", curl("-i", json).gsub(/^/, "  ").delete("\r"), ""
  end

  def measure(name, rate)
    command = load_command(name)
    puts "wrk #{command.drop(1).join(" ")}"
    text, = Open3.capture2e(EdgePrograms.env(command.first), *command)
    puts format("  %-11s %9s requests/s here; %s in the article, on another machine", name,
      text[/^Requests\/sec:\s+(\d+)/, 1] || text, rate)
  end

  # Redis is away for a moment while requests come all the time.
  def break_redis
    puts "", "kill -9 of Redis under load"
    load = start(*load_command("/json_api/"), out: "#{@folder}/wrk")
    stop(@redis, :KILL)
    puts "  #{await("502")}"
    redis
    puts "Redis starts again", "  #{await("200")}"
    Process.wait(load)
    @pids.delete(load)
    others = File.read("#{@folder}/wrk")[/Non-2xx.*: (\d+)/, 1] || "0"
    puts "  #{others} requests of the load had an error"
  end

  def redis
    @redis = start(EdgePrograms.redis_server, "--port", @store.to_s, "--bind", "127.0.0.1",
      "--appendonly", "yes", "--dir", @folder, out: "#{@folder}/redis")
    eventually("redis-server") { File.read("#{@folder}/redis").include?("Ready to accept") }
  end

  def serve(name, file, *options)
    arguments = [COMMAND, "#{__dir__}/#{file}", "-p", @urls[name][/:(\d+)/, 1], *options]
    start(RbConfig.ruby, *arguments, out: "#{@folder}/#{file}.log", err: [:child, :out],
      env: {"REDIS_URL" => "redis://127.0.0.1:#{@store}"})
    eventually(file) { curl("-o", File::NULL, "-w", "%{http_code}", @urls[name]) == "200" }
  end

  # @return [String] the answer with this status
  def await(status)
    eventually("/json_api/ with status #{status}") do
      body, code = curl("-w", "\n%{http_code}", json).split("\n")
      "#{code} #{body}" if code == status
    end
  end

  def json = @urls["/json_api/"]
  def curl(*arguments) = Open3.capture2("curl", "-s", *arguments).first

  def load_command(name)
    %W[#{EdgePrograms.wrk} --threads 2 --connections 10 --duration #{@seconds} #{@urls[name]}]
  end

  def start(program, *arguments, env: {}, **redirections)
    env = EdgePrograms.env(program).merge(env)
    spawn(env, program, *arguments, **redirections).tap { |pid| @pids << pid }
  end

  def stop(pid, signal = :TERM)
    return unless @pids.delete(pid)
    Process.kill(signal, pid)
    Process.wait(pid)
  end

  def eventually(what)
    deadline = now + DEADLINE
    until (found = yield)
      raise "#{what}: no answer in #{DEADLINE} s" if now > deadline
      sleep 0.02
    end
    found
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

  def free_ports(count)
    servers = Array.new(count) { TCPServer.new("127.0.0.1", 0) }
    servers.map { |server| server.addr[1] }
  ensure
    servers.each(&:close)
  end
end

seconds = ARGV.fetch(0, "5")
abort "usage: demo.rb [SECONDS]" unless ARGV.size < 2 && seconds.match?(/\A[1-9]\d?\z/)
reason = EdgeBuild.missing
abort reason if reason
$stdout.sync = true
begin
  Dir.mktmpdir("godwit-edge-demo-") { |folder| EdgeDemo.new(folder, Integer(seconds)).run }
rescue Godwit::DebianSource::Failure => error
  abort error.message
end
