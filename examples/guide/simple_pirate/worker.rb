# frozen_string_literal: true

# Squares numbers for the queue; one takes WORK seconds. Kill it while it works: another worker gets
# its request.
#
#   ruby -Ilib examples/guide/simple_pirate/worker.rb [BACKEND [NAME [WORK]]]
require "godwit"

name = ARGV[1] || "worker #{Process.pid}"
work = Float(ARGV[2] || 0.5)
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

Godwit::REQ.connect(ARGV[0] || "tcp://127.0.0.1:5556", linger: 0) do |req|
  req << "READY"
  req.each do |client, _, number|
    puts "works on #{number}"
    sleep work
    req << [client, "", "#{Integer(number)**2}, says #{name}"]
  end
end
