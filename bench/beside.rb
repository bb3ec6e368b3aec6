# frozen_string_literal: true

# How fast are Godwit, libzmq in C, OMQ, CZTop, ffi-rzmq and pyzmq, beside each other on Debian 13?
# See support/bench.rb for what narrows a run.
require_relative "support/bench"
require_relative "support/beside_debian"

RUNS = 5
SIZES = {100 => "100 B", 1024 => "1 KiB", 65_536 => "64 KiB"}.freeze
COUNTS = {100 => 100_000, 1024 => 60_000, 65_536 => 5_000}.freeze
ROUND_TRIPS = 3_000
ROUND_TRIP_SIZE = 100
C = "libzmq in C"
GODWIT = "Godwit"
FRAMES = "Godwit, frames in place"
CONTENDERS = {
  C => :c, GODWIT => :godwit, "OMQ" => :omq, "CZTop" => :cztop, "ffi-rzmq" => :ffi_rzmq,
  "pyzmq" => :pyzmq
}.freeze
# Form => its words, and the contenders that have it.
FORMS = {
  processes: ["two processes", CONTENDERS.keys],
  threads: ["two threads of one process", CONTENDERS.keys],
  fibers: ["two fibers of one thread, under Async", [GODWIT, "OMQ", "CZTop"]]
}.freeze
CELLS = {"tcp" => FORMS.keys, "ipc" => FORMS.keys, "inproc" => %i[threads fibers]}.freeze
# So many times fewer messages over tcp and ipc, where a run would take seconds.
SHARES = {omq: 4, cztop: 10, ffi_rzmq: 4}.freeze

# What one contender did in one cell: its figures by name.
Cell = Struct.new(:transport, :form, :results) do
  def name = "#{transport}, #{form}"

  def median(label, key) = results[key]&.dig(label, :value)&.median

  # @return [Float, nil] a figure divided by that of another
  def ratio(label, key, of: GODWIT)
    ours, theirs = [of, label].map { |one| median(one, key) }
    ours / theirs if ours && theirs
  end
end

# With a reactor in each thread OMQ is several times as fast as with the one that it starts itself.
def form_of(kind, form) = (kind == :omq && form == :threads) ? :reactors : form

def count(kind, transport, form, size)
  share = (transport == "inproc") ? 1 : SHARES.fetch(kind, 1)
  COUNTS[size] / share / (Bench.quick? ? 20 : 1)
end

# Memory that a heap grows by is slow to touch first. So the warm-up is as long as the measurement.
def run_once(debian, kind, transport, form, pattern, size, count, *frames)
  arguments = [debian.endpoint(transport), size, count, count, *frames]
  unless form == :processes
    command = debian.command(kind, :together, form_of(kind, form))
    return Bench::Child.result(*command, pattern, *arguments)
  end
  server, client = (pattern == :push) ? %i[pull push] : %i[rep req]
  first, second =
    Bench::Child.pair(debian.command(kind, server), debian.command(kind, client), *arguments)
  (pattern == :push) ? first : second
end

def contest(transport, form, name, more = {})
  contest = Bench::Contest.new("beside, #{transport}, #{form}, #{name}")
  CONTENDERS.slice(*FORMS[form].last).merge(more).each do |label, kind|
    contest.add(label) { yield(*kind) }
  end
  contest.run(Bench.runs(RUNS))
end

def rates(debian, transport, form, size)
  frames = (transport == "inproc") ? {FRAMES => %i[godwit frames]} : {}
  contest(transport, form, SIZES[size], frames) do |kind, *frames|
    count = count(kind, transport, form, size)
    {value: run_once(debian, kind, transport, form, :push, size, count, *frames)["rate"]}
  end
end

def times(debian, transport, form)
  count = Bench.quick? ? 300 : ROUND_TRIPS
  results = contest(transport, form, "round trips") do |kind|
    run_once(debian, kind, transport, form, :req, ROUND_TRIP_SIZE, count)
      .slice("p50_us", "p99_us")
  end
  {p50: "p50_us", p99: "p99_us"}.transform_values do |key|
    results.transform_values { |figures| {value: figures[key]} }
  end
end

def measure(debian)
  sizes = Bench.sizes(SIZES.keys, quick: [100])
  Bench.transports(CELLS.keys).flat_map do |transport|
    CELLS[transport].map do |form|
      results = sizes.to_h { |size| [size, rates(debian, transport, form, size)] }
      Cell.new(transport, form, results.merge(times(debian, transport, form)))
    end
  end
end

def shown(cell, label, key)
  value = cell.median(label, key)
  return "-" unless value
  text = key.is_a?(Symbol) ? format("%.1f", value) : Bench.rate(value)
  label.start_with?(GODWIT) ? text : "#{text} · #{format("%.2f", cell.ratio(label, key))}"
end

def table(section, cell)
  words, labels = FORMS[cell.form]
  labels += [FRAMES] if cell.transport == "inproc"
  section.heading "#{cell.transport}, #{words}"
  names = cell.results.keys.map { |key| SIZES[key] || "#{key}, µs" }
  section.table ["", *names],
    labels.map { |label| [label, *cell.results.keys.map { |key| shown(cell, label, key) }] }
end

# The ratio that is nearest to missing a goal, where it is, and what C's own is there.
def worst(cells, label, keys, by)
  all = cells.product(keys).filter_map do |cell, key|
    ratio = cell.ratio(label, key)
    own = cell.ratio(label, key, of: C)&.then { |value| format("; C's own: %.2f", value) }
    [ratio, "#{cell.name}, #{SIZES[key] || key}#{own}"] if ratio
  end
  all.public_send(by, &:first) || [nil, "not measured"]
end

def goal(section, words, cells, label, keys, limit)
  by = (limit.keys.first == :at_least || limit.keys.first == :more_than) ? :min_by : :max_by
  ratio, place = worst(cells, label, keys, by)
  section.target "#{words} (#{place})", ratio, digits: 2, **limit
end

def targets(section, cells)
  cells.each do |cell|
    inproc = cell.transport == "inproc"
    SIZES.each_key do |size|
      goal(section, "rate, times OMQ's", [cell], "OMQ", [size], {at_least: inproc ? 1.5 : 3})
    end
    goal(section, "p50, of OMQ's", [cell], "OMQ", %i[p50], {at_most: 0.75}) unless inproc
  end
  %w[CZTop ffi-rzmq].each do |label|
    goal(section, "rate, times #{label}'s, everywhere", cells, label, SIZES.keys, {more_than: 1})
    goal(section, "p50 and p99, of #{label}'s, everywhere", cells, label, %i[p50 p99],
      {less_than: 1})
  end
end

LIMITS = <<~MARKDOWN
  * **p50 between fibers**: OMQ reads and writes on the fibers' own thread. libzmq has a thread for
    it, so each direction wakes two threads, for C as well (see its p50 between threads). Two fibers
    over inproc make 25 system calls a round trip; 18 are libzmq's `getpid` and `poll`.
  * **64 KiB over inproc**: OMQ passes the sender's frozen String on. Godwit's receiver gets a
    String of its own, with two copies, or one from a frozen String. `recv_frame` copies nothing.
  * **64 KiB over tcp and ipc**: the kernel's copies limit all. Where C's own ratio, beside a goal,
    is below the goal, no library over libzmq reaches it.
MARKDOWN

TITLE = "Beside the other libraries"
if (reason = Bench::BesideDebian.missing)
  abort "bench/beside.rb: #{reason}" unless Bench.quick?
  puts "beside: not measured: #{reason}"
  exit
end
Bench::BesideDebian.open do |debian|
  Bench.section("beside", TITLE, machine: debian) do |section|
    section.text <<~MARKDOWN
      #{Bench.runs(RUNS)} alternating runs, medians. All run in one chroot of Debian 13, with one
      libzmq. PUSH to PULL: messages a second, which the receiver measures from the last message of
      the warm-up (as many messages) to the last message. REQ to REP: #{ROUND_TRIPS} round trips of
      #{ROUND_TRIP_SIZE} B, each timed by the client. Behind the point stands Godwit's figure
      divided by this one: above 1 Godwit has the higher rate, below 1 the shorter time.

      Each library sends and receives single messages, one call each, with its defaults:
      `zmq_msg_send` and `zmq_msg_recv`; Godwit `send`, `recv`; OMQ and CZTop `<<`, `receive`;
      ffi-rzmq `send_string`, `recv_string` into one buffer; pyzmq `send`, `recv`. Godwit's
      batches are in the sections above; "frames in place" sends a frozen String and reads the
      message where it lies (`recv_frame`). OMQ and CZTop give each message as an Array. OMQ's pure
      Ruby runs: its Rust backend needs a newer Rust than Debian 13's, its libzmq backend Ruby 4.
      Debian's Ruby has no JIT. Each of OMQ's threads and processes has a reactor of Async: with
      the one that OMQ starts itself it is several times slower. Messages by size:
      #{COUNTS.values.join(", ")}. Over tcp and ipc OMQ and ffi-rzmq move a fourth and CZTop a tenth
      of them, because a run would take seconds.
    MARKDOWN
    cells = measure(debian)
    cells.each { |cell| table(section, cell) }
    section.heading "What limits them"
    section.text LIMITS
    targets(section, cells)
  end
end
