# frozen_string_literal: true

# How fast are Godwit, libzmq in C, OMQ, CZTop, ffi-rzmq and pyzmq, beside each other on Debian 13?
# See support/bench.rb for what narrows a run.
require_relative "support/bench"
require_relative "support/beside_debian"

RUNS = 5
SIZES = {100 => "100 B", 1024 => "1 KiB", 65_536 => "64 KiB"}.freeze
COUNTS = {100 => 200_000, 1024 => 100_000, 65_536 => 6_000}.freeze
ROUND_TRIPS = 3_000
ROUND_TRIP_SIZE = 100
GODWIT = "Godwit"
CONTENDERS = {
  "libzmq in C" => :c, GODWIT => :godwit, "OMQ" => :omq, "CZTop" => :cztop,
  "ffi-rzmq" => :ffi_rzmq, "pyzmq" => :pyzmq
}.freeze
# Form => its words, and the contenders that have it.
FORMS = {
  processes: ["two processes", CONTENDERS.keys],
  threads: ["two threads of one process", CONTENDERS.keys],
  fibers: ["two fibers of one thread, under Async", [GODWIT, "OMQ", "CZTop"]]
}.freeze
CELLS = {"tcp" => FORMS.keys, "ipc" => FORMS.keys, "inproc" => %i[threads fibers]}.freeze
# So many times fewer messages, where a run would take seconds.
SHARES = Hash.new(1).merge(omq: 4, cztop: 20, ffi_rzmq: 10).freeze
# Inproc is a queue in Ruby for OMQ; between two threads its messages cross a third one.
INPROC_SHARES = {%i[omq fibers] => 1, %i[omq threads] => 100, %i[cztop fibers] => 5}.freeze

# What one contender did in one cell: its figures by name.
Cell = Struct.new(:transport, :form, :results) do
  def name = "#{transport}, #{form}"

  def median(label, key) = results[key]&.dig(label, :value)&.median

  # @return [Float, nil] Godwit's figure divided by that of another
  def ratio(label, key)
    ours, theirs = [GODWIT, label].map { |one| median(one, key) }
    ours / theirs if ours && theirs
  end
end

# Two reactors are several times as fast as two threads that share OMQ's own, which alone can use
# inproc between threads.
def form_of(kind, transport, form)
  (kind == :omq && form == :threads && transport != "inproc") ? :reactors : form
end

def count(kind, transport, form, size)
  share = SHARES[kind]
  share = INPROC_SHARES.fetch([kind, form], share) if transport == "inproc"
  COUNTS[size] / share / (Bench.quick? ? 20 : 1)
end

def run_once(debian, kind, transport, form, pattern, size, count)
  arguments = [debian.endpoint(transport), size, count, count / 10]
  unless form == :processes
    command = debian.command(kind, :together, form_of(kind, transport, form))
    return Bench::Child.result(*command, pattern, *arguments)
  end
  server, client = (pattern == :push) ? %i[pull push] : %i[rep req]
  first, second =
    Bench::Child.pair(debian.command(kind, server), debian.command(kind, client), *arguments)
  (pattern == :push) ? first : second
end

def contest(debian, transport, form, name)
  contest = Bench::Contest.new("beside, #{transport}, #{form}, #{name}")
  CONTENDERS.slice(*FORMS[form].last).each do |label, kind|
    contest.add(label) { yield kind }
  end
  contest.run(Bench.runs(RUNS))
end

def rates(debian, transport, form, size)
  contest(debian, transport, form, SIZES[size]) do |kind|
    count = count(kind, transport, form, size)
    {value: run_once(debian, kind, transport, form, :push, size, count)["rate"]}
  end
end

def times(debian, transport, form)
  count = Bench.quick? ? 300 : ROUND_TRIPS
  results = contest(debian, transport, form, "round trips") do |kind|
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
  text = key.is_a?(Symbol) ? format("%.1f", value) : rate(value)
  (label == GODWIT) ? text : "#{text} · #{format("%.2f", cell.ratio(label, key))}"
end

def rate(value) = (value >= 1e6) ? format("%.2f M", value / 1e6) : format("%.1f k", value / 1e3)

def table(section, cell)
  words, labels = FORMS[cell.form]
  section.heading "#{cell.transport}, #{words}"
  names = cell.results.keys.map { |key| SIZES[key] || "#{key}, µs" }
  section.table ["", *names],
    labels.map { |label| [label, *cell.results.keys.map { |key| shown(cell, label, key) }] }
end

# The ratio that is nearest to missing a goal, and where it is.
def worst(cells, label, keys, by)
  all = cells.product(keys).filter_map do |cell, key|
    ratio = cell.ratio(label, key)
    [ratio, "#{cell.name}, #{SIZES[key] || key}"] if ratio
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
    if cell.transport == "inproc"
      goal(section, "rate, times OMQ's", [cell], "OMQ", SIZES.keys, {at_least: 1.5})
    else
      goal(section, "rate, times OMQ's", [cell], "OMQ", SIZES.keys, {at_least: 3})
      goal(section, "p50, of OMQ's", [cell], "OMQ", %i[p50], {at_most: 0.75})
    end
  end
  %w[CZTop ffi-rzmq].each do |label|
    goal(section, "rate, times #{label}'s, everywhere", cells, label, SIZES.keys, {more_than: 1})
    goal(section, "p50 and p99, of #{label}'s, everywhere", cells, label, %i[p50 p99],
      {less_than: 1})
  end
end

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
      the warm-up (a tenth more messages) to the last message. REQ to REP: #{ROUND_TRIPS} round trips
      of #{ROUND_TRIP_SIZE} B, each timed by the client. Behind the point stands Godwit's figure divided by
      this one: above 1 Godwit has the higher rate, below 1 the shorter time.

      Each library sends and receives single messages, one call each, with its defaults:
      `zmq_msg_send` and `zmq_msg_recv`; Godwit `send`, `recv`; OMQ and CZTop `<<`, `receive`;
      ffi-rzmq `send_string`, `recv_string` into one buffer; pyzmq `send`, `recv`. Godwit's batches
      and frames are in the sections above. OMQ and CZTop give each message as an Array. OMQ's pure
      Ruby runs: its Rust backend needs a newer Rust than Debian 13's, its libzmq backend Ruby 4.
      Debian's Ruby has no JIT. Between two threads each of OMQ's has a reactor, except over inproc,
      which needs its shared reactor. Of #{COUNTS.values.join(", ")} messages by size OMQ moves a fourth,
      CZTop a twentieth and ffi-rzmq a tenth (over inproc OMQ all of them between fibers, a hundredth
      between threads; CZTop a fifth between fibers), because a run would take seconds.
    MARKDOWN
    cells = measure(debian)
    cells.each { |cell| table(section, cell) }
    targets(section, cells)
  end
end
