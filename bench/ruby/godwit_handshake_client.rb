# frozen_string_literal: true

# godwit_handshake_client.rb ENDPOINT COUNT: connects COUNT times, one after the other, each time
# until the handshake has succeeded.
require_relative "common"
require "godwit"
require_relative "curve_keys"

endpoint, count = ARGV
keys = Godwit::Curve::Keypair.new(secret_key: CurveKeys::SERVER.secret_key)
result = Common.measure do
  Integer(count).times do
    push = Godwit::PUSH.new(curve: keys, server_key: CurveKeys::SERVER.public_key, linger: 0)
    monitor = push.monitor(:handshake_succeeded)
    push.connect(endpoint)
    monitor.next_event(timeout: 10)
    push.close
  end
  Integer(count)
end
Common.say(program: "godwit_handshake_client", **result)
