# frozen_string_literal: true

# godwit_handshake_server.rb ENDPOINT COUNT none|keys|dir: a CURVE server, with an Auth or without
# one, until its standard input ends. Prints its CPU time for each of COUNT handshakes.
require "tmpdir"
require_relative "common"
require "godwit"
require_relative "curve_keys"

endpoint, count, mode = ARGV
options = {curve: CurveKeys::SERVER}
Dir.mktmpdir do |dir|
  client = Godwit::Curve::Keypair.new(secret_key: CurveKeys::SERVER.secret_key)
  if mode != "none"
    auth = Godwit::Auth.new
    Godwit::Cert.new("bench", keypair: client).save_public(dir)
    auth.curve(**((mode == "keys") ? {keys: {"bench" => client.public_key}} : {dir: dir}))
    options[:auth] = "bench"
    sleep 0.2 # a store trusts the time of change of a file only once it has some age
  end
  pull = Godwit::PULL.bind(endpoint, **options)
  Common.ready(pull.last_endpoint)
  before = Common.cpu
  $stdin.read
  Common.say(cpu_ns: (Common.cpu - before) / Float(count))
  pull.close
end
