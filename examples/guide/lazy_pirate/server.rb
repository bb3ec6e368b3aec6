# frozen_string_literal: true

# Squares numbers; one takes WORK seconds. Stop or kill it while client.rb runs, and restart it.
#
#   ruby -Ilib examples/guide/lazy_pirate/server.rb [ENDPOINT [NAME [WORK]]]
require "godwit"

name = ARGV[1] || "the server"
work = Float(ARGV[2] || 0.5)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

Godwit::REP.bind(ARGV[0] || "tcp://127.0.0.1:5555") do |rep|
  puts "ready at #{rep.last_endpoint}"
  rep.serve do |number|
    puts "works on #{number}"
    sleep work
    "#{Integer(number)**2}, says #{name}"
  end
end
