# frozen_string_literal: true

# Answers every request. Start it, then client.rb in another terminal:
#
#   ruby -Ilib examples/server.rb [ENDPOINT]
require "godwit"

rep = Godwit::REP.bind(ARGV[0] || "tcp://127.0.0.1:5555")
loop do
  rep.recv
  rep.send "reply"
end
