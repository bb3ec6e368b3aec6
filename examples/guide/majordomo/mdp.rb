# frozen_string_literal: true

# The constants of the Majordomo protocol, RFC 7/MDP: https://rfc.zeromq.org/spec/7/
module MDP
  CLIENT = "MDPC01"
  WORKER = "MDPW01"
  READY, REQUEST, REPLY, HEARTBEAT, DISCONNECT = "\x01", "\x02", "\x03", "\x04", "\x05"

  PATIENCE = 3 # heartbeats: a peer that is silent for longer is regarded as gone
end
