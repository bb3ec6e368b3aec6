# frozen_string_literal: true

# program.rb push|pull|rep|req ENDPOINT SIZE COUNT [WARMUP] [strings|batches]: as the programs of
# bench/ruby, for mruby-godwit. They print the same lines.

BATCH = 256

def now = Godwit::Backend::MRuby.now * 1e9

# CPU time of the process in ns, libzmq's own threads included; the system counts it in 10 ms.
def cpu
  fields = File.read("/proc/self/stat").split(")").last.split(" ")
  (fields[11].to_i + fields[12].to_i) * 10_000_000
end

def say(text)
  puts "{#{text}}"
  $stdout.flush
end

def measure
  cpu_before = cpu
  start = now
  moved = yield
  seconds = (now - start) / 1e9
  say "\"rate\": #{moved / seconds}, \"cpu_ns\": #{(cpu - cpu_before) / moved.to_f}"
end

def push_strings(socket, payload, count)
  sent = 0
  while sent < count
    socket.send(payload)
    sent += 1
  end
  sent
end

def push_batches(socket, payload, count)
  batch = [payload] * BATCH
  sent = 0
  while sent + BATCH <= count
    socket.send_many(batch)
    sent += BATCH
  end
  socket.send_many(batch.first(count - sent)) if sent < count
  count
end

def pull_strings(socket, count)
  left = count
  while left > 0
    socket.recv
    left -= 1
  end
  count
end

def pull_batches(socket, count)
  received = 0
  received += socket.recv_many(BATCH).size while received < count
  received
end

def reply(rep, count)
  while count > 0
    rep.send(rep.recv)
    count -= 1
  end
end

def round_trips(req, payload, stamps, count)
  index = 1
  while index <= count
    req.send(payload)
    req.recv
    stamps[index] = now
    index += 1
  end
end

def report(stamps, used)
  times = []
  1.upto(stamps.size - 1) { |index| times << stamps[index] - stamps[index - 1] }
  sum = times.inject(0) { |total, time| total + time }
  sorted = times.sort
  p50, p99 = [50, 99].map { |percent| sorted[(sorted.size * percent + 99) / 100 - 1] / 1e3 }
  mean = sum / times.size / 1e3
  say "\"p50_us\": #{p50}, \"p99_us\": #{p99}, \"mean_us\": #{mean}, " \
    "\"cpu_ns\": #{used / times.size.to_f}"
end

role, endpoint, size, count, warmup, form = ARGV
payload = "x" * size.to_i
count = count.to_i
warmup = warmup.to_i
batches = form == "batches"

case role
when "push"
  socket = Godwit::PUSH.connect(endpoint)
  move = batches ? :push_batches : :push_strings
  __send__(move, socket, payload, warmup)
  measure { __send__(move, socket, payload, count) }
  $stdin.read # the receiver has all
when "pull"
  socket = Godwit::PULL.bind(endpoint)
  say "\"ready\": \"#{socket.last_endpoint}\""
  move = batches ? :pull_batches : :pull_strings
  early = __send__(move, socket, [warmup, 1].max)
  measure { __send__(move, socket, warmup + count - early) }
when "rep"
  socket = Godwit::REP.bind(endpoint)
  say "\"ready\": \"#{socket.last_endpoint}\""
  reply(socket, warmup + count)
  say "\"program\": \"rep\""
when "req"
  socket = Godwit::REQ.connect(endpoint)
  round_trips(socket, payload, [], warmup)
  used = cpu
  stamps = [now] * (count + 1)
  round_trips(socket, payload, stamps, count)
  report(stamps, cpu - used)
end
socket.close
