# frozen_string_literal: true

# Receives the records of any number of writers until none has arrived for a second, and prints the
# counts of received and lost records:
# ruby -Ilib examples/logger/reader.rb [ENDPOINT]
require "godwit"

made = {} # what each writer said that it made
Godwit::Logger::Reader.new(ARGV.fetch(0, "tcp://127.0.0.1:7000")) do |reader|
  $stdout.syswrite("ready at #{reader.last_endpoint}\n")

  record = reader.recv
  first = last = Process.clock_gettime(Process::CLOCK_MONOTONIC)
  while record
    made[record.writer] = record.payload["made"] if record.text == "that was all"
    record = reader.recv(timeout: 1, exception: false)
    last = Process.clock_gettime(Process::CLOCK_MONOTONIC) if record
  end

  reader.writers.sort_by(&:prog).each do |account|
    unknown = "of it nothing came after record #{account.last}: its tail is unknown"
    rest = made.key?(account.writer) ? "of #{made[account.writer]}" : unknown
    puts format("%-8s received %6d, lost %d; %s", account.prog, account.received, account.lost,
      rest)
  end
  puts format("%-8s received %6d, lost %d; %d records/s", "all", reader.received, reader.lost,
    reader.received / (last - first))
end
