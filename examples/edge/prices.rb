# frozen_string_literal: true

# The back end of gateway.rb, on CRuby: any REP can answer the edge.
#
#   ruby -Ilib examples/edge/prices.rb [ENDPOINT]
require "godwit"

PRICES = {"eur" => "1.25", "usd" => "1.40"}.freeze

rep = Godwit::REP.bind(ARGV.fetch(0, "tcp://127.0.0.1:5555"))
rep.serve { |currency| PRICES.fetch(currency, "unknown") }
