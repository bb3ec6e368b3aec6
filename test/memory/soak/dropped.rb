# frozen_string_literal: true

# 3,000 received frames of 1 MiB that the program does not close. The garbage collector must know
# their size, and free them before they fill the memory.
require_relative "soak"

pull = Godwit::PULL.bind("tcp://127.0.0.1:*", recv_hwm: 1)
push = Godwit::PUSH.connect(pull.last_endpoint, send_hwm: 1)
data = "x" * (1 << 20)
3000.times do
  push.send(data)
  pull.recv_frame.size == data.size or abort "wrong"
end
Soak.say("dropped", Soak.peak < 150, rounds: 3000, peak_mb: Soak.peak.round(1), limit_mb: 150)
