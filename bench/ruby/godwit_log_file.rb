# frozen_string_literal: true

# godwit_log_file.rb COUNT ENDPOINT: `log serve --file`, into a file of its own. It writes COUNT
# records, of which the first tenth only warms up. When no record has come for 5 s it tells what it
# has written.
require "tmpdir"
require_relative "common"
require "godwit"

# Waits until so many are written.
module Written
  module_function

  def wait(sink, count)
    before = nil
    changed = Common.now
    until sink.written >= count || Common.now - changed > 5_000_000_000
      changed = Common.now if sink.written != before
      before = sink.written
      sleep 0.001
    end
    [Common.now, Common.cpu, sink.written]
  end
end

count, endpoint = Integer(ARGV[0]), ARGV[1]
Dir.mktmpdir("godwit-bench") do |folder|
  sink = Godwit::Logger::Sink.new("#{folder}/app.log")
  broadcaster = Godwit::Logger::Broadcaster.new(endpoint, "tcp://127.0.0.1:*", sink: sink).start
  Common.ready(broadcaster.input.first)
  sleep 0.001 while sink.written.zero?
  first, cpu, warmup = Written.wait(sink, count / 11)
  last, cpu_after, seen = Written.wait(sink, count)
  Common.say(program: "godwit_log_file", seen: seen, rate: (seen - warmup) / ((last - first) / 1e9),
    cpu_ns: (cpu_after - cpu) / (seen - warmup).to_f)
  broadcaster.close
end
