# frozen_string_literal: true

# How many requests does the edge answer for a second of its CPU time, beside other servers that run
# scripts? See support/bench.rb for what narrows a run.
require "net/http"
require_relative "support/bench"
require_relative "support/edge_contenders"
require_relative "../test/support/ports"

RUNS = 7
SECONDS = Bench.quick? ? 1 : 4
CONNECTIONS = 10
SERVERS = {
  edge: "the edge", h2o: "H2O", nginx_lua: "nginx with lua-nginx-redis", node: "Node",
  sinatra: "Sinatra on Puma"
}.freeze
# What each server answers, and where.
CASES = {
  "hello" => {edge: "/hello", h2o: "/hello"},
  "JSON" => {edge: "/json", h2o: "/json"},
  "JSON and Redis" => {edge: "/redis", nginx_lua: "/", node: "/", sinatra: "/"},
  "ZeroMQ" => {edge: "/zmq"}
}.freeze
ANSWERS = {
  "hello" => "hello\n", "JSON" => '{"foo":"bar"}', "JSON and Redis" => '{"foo":"bar"}',
  "ZeroMQ" => '{"foo":"foo"}'
}.freeze

def others = Bench::PinnedServer::OTHERS

# Starts Redis and the ZeroMQ back end.
# @return [Array(Integer, Integer, Array<Integer>)] their ports, and free ones for the servers
def surroundings(start, folder)
  redis, back, *ports = Array.new(2 + SERVERS.size) { Godwit::TestSupport::Ports.free }
  start.call(EdgePrograms.redis_server, "--port", redis.to_s, "--bind", "127.0.0.1", "--save", "",
    "--dir", folder, port: redis, core: others, env: EdgePrograms.env(EdgePrograms.redis_server))
  TCPSocket.open("127.0.0.1", redis) { |socket| socket.write("SET foo bar\r\n") && socket.gets }
  start.call(RbConfig.ruby, "-I", "#{Bench::ROOT}/lib", "#{Bench::FOLDER}/edge/back_end.rb",
    "tcp://127.0.0.1:#{back}", port: back, core: others)
  [redis, back, ports]
end

# @return [Hash{String => String}] location => the app's file
def apps(folder, back, names)
  names.to_h do |name|
    text = File.read("#{Bench::FOLDER}/edge/#{name}.rb").sub(":5555", ":#{back}")
    ["/#{name}", Bench::EdgeContenders.write(folder, "#{name}.rb", text)]
  end
end

def command(kind, folder, redis, back, port)
  contenders = Bench::EdgeContenders
  case kind
  when :edge then contenders.edge(folder, apps(folder, back, %w[hello json redis zmq]), port)
  when :h2o then contenders.h2o(folder, apps(folder, back, %w[hello json]), port)
  when :nginx_lua then contenders.nginx_lua(folder, redis, port)
  when :node then contenders.node("redis://127.0.0.1:#{redis}", port)
  when :sinatra then contenders.sinatra(port)
  end
end

# @return [Hash{Symbol => Array(Bench::PinnedServer, String)}] each with its URL
def servers(start, folder)
  redis, back, ports = surroundings(start, folder)
  present = SERVERS.keys.reject { |kind| Bench::Contest.missing(kind) }
  present.zip(ports).to_h do |kind, port|
    env = Bench::EdgeContenders.environment(kind, "redis://127.0.0.1:#{redis}")
    [kind, [start.call(*command(kind, folder, redis, back, port), port: port, env: env),
      "http://127.0.0.1:#{port}"]]
  end
end

# Waits until the server gives the answer: it may still run its file.
def check(url, answer)
  deadline = Bench.now + 10
  until (got = Net::HTTP.get_response(URI(url))).body == answer
    raise Bench::Failure, "#{url} answers #{got.code} #{got.body}" if Bench.now > deadline
    sleep 0.05
  end
end

# @return [Hash{Symbol => Float}] requests/s, and requests for a second of the server's CPU time
def load(server, url)
  before = server.cpu
  program = EdgePrograms.wrk
  text, = Open3.capture2e(Bench::Child::ENVIRONMENT.merge(EdgePrograms.env(program)), "taskset",
    "-c", others.to_s, program, "--threads", "1", "--connections", CONNECTIONS.to_s,
    "--duration", SECONDS.to_s, url)
  used = server.cpu - before
  count = text[/(\d+) requests in/, 1]
  bad = !count || text.match?(/Non-2xx|Socket errors/)
  raise Bench::Failure, "#{url}: #{text}\n#{server.said}" if bad
  {rate: Float(text[%r{Requests/sec:\s+([\d.]+)}, 1]), cpu: Integer(count) / used}
end

def contest(name, present)
  contest = Bench::Contest.new("edge, #{name}")
  CASES[name].each do |kind, path|
    contest.add(SERVERS[kind], kind) do
      server, place = present.fetch(kind)
      load(server, place + path)
    end
  end
  [contest.run(Bench.runs(RUNS)), contest.absent]
end

# Gives the block the name, the results and the absent ones of each case.
# @return [Hash{String => Hash}] the results
def measure
  Dir.mktmpdir("godwit-bench") do |folder|
    Bench::PinnedServer.together do |start|
      present = servers(start, folder)
      CASES.each do |name, paths|
        paths.slice(*present.keys).each do |kind, path|
          check(present[kind].last + path, ANSWERS[name])
        end
      end
      CASES.keys.to_h do |name|
        results, absent = contest(name, present)
        yield name, results, absent
        [name, results]
      end
    end
  end
end

def show(section, name, results, absent)
  section.heading name
  rows = results.map do |label, figures|
    [label, *%i[rate cpu].map { |key| figures[key].median.round.to_s }]
  end
  section.table ["", "requests/s", "requests per CPU-second"],
    rows + absent.map { |label, reason| [label, reason, ""] }
end

def ratio(results, name, kind, under = name)
  above = results.dig(name, SERVERS[:edge], :cpu)&.median
  below = results.dig(under, SERVERS[kind], :cpu)&.median
  above / below if above && below
end

Bench.section("edge", "The edge: Ruby inside nginx") do |section|
  reason = EdgeBuild.missing
  next section.text("Not measured: #{reason}.") if reason
  Bench::EdgeContenders.install unless Bench.quick?
  section.text <<~MARKDOWN
    #{Bench.runs(RUNS)} alternating runs of #{SECONDS} s, medians. Each server is one process, or
    one worker, on the first core. wrk with #{CONNECTIONS} connections, Redis and the ZeroMQ back
    end are on the other one. CPU time is that of all processes of a server, with the system's part.
    Versions: #{Bench::EdgeContenders.versions}.
  MARKDOWN
  results = measure { |*found| show(section, *found) }
  {nginx_lua: 1.1, node: 1.3, sinatra: 10}.each do |kind, goal|
    section.target "JSON and Redis, per CPU-second, of #{SERVERS[kind]}",
      ratio(results, "JSON and Redis", kind), at_least: goal, digits: 2
  end
  {"hello" => 0.8, "JSON" => 2}.each do |name, goal|
    section.target "#{name}, per CPU-second, of H2O", ratio(results, name, :h2o), at_least: goal,
      digits: 2
  end
  section.target "ZeroMQ, per CPU-second, of the edge's JSON and Redis",
    ratio(results, "ZeroMQ", :edge, "JSON and Redis"), at_least: 0.5, digits: 2
end
