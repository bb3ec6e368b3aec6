# frozen_string_literal: true

# godwit_shell.rb WAY cost|speed PATTERN COMMAND…: takes a command's rows in one of the ways below.
# `cost`: bytes and objects that Ruby allocates, with the garbage collector off; `speed`: seconds
# and memory, with it on.
require "godwit"
require_relative "common"

Godwit.const_get(:Shell) # loads it

# Rows seen, matches seen, and when the last of them was.
Seen = Struct.new(:rows, :matches, :at) do
  def see(row, pattern)
    self.rows += 1
    return unless row.match?(pattern)
    self.matches += 1
    self.at = Common.now
  end
end

# Cheaper than a Struct's field, which costs as much as a row.
def count(seen)
  rows = 0
  yield ->(_row) { rows += 1 }
  seen.rows = rows
end

WANTED = 10
WAYS = {
  "backticks" => lambda { |command, pattern, seen|
    `#{command.join(" ")}`.each_line { |row| seen.see(row, pattern) }
  },
  "popen" => lambda { |command, pattern, seen|
    IO.popen(command) { |io| io.each_line { |row| seen.see(row, pattern) } }
  },
  "rows" => lambda { |command, pattern, seen|
    Godwit::Shell.rows(*command) { |row| seen.see(row, pattern) }
  },
  "reuse" => lambda { |command, pattern, seen|
    Godwit::Shell.rows(*command, reuse: true) { |row| seen.see(row, pattern) }
  },
  "ten-backticks" => lambda { |command, pattern, seen|
    `#{command.join(" ")}`.each_line.lazy.select { |row| seen.see(row, pattern) }
      .first(WANTED)
  },
  "ten-popen" => lambda { |command, pattern, seen|
    IO.popen(command) do |io|
      io.each_line { |row| break if seen.see(row, pattern) && seen.matches == WANTED }
    end
  },
  "ten-rows" => lambda { |command, pattern, seen|
    Godwit::Shell.rows(*command).lazy.select { |row| seen.see(row, pattern) }
      .first(WANTED)
  },
  # Nothing is looked for: what a row itself costs.
  "bare-backticks" => lambda { |command, _, seen|
    count(seen) { |counter| `#{command.join(" ")}`.each_line(&counter) }
  },
  "bare-popen" => lambda { |command, _, seen|
    count(seen) { |counter| IO.popen(command) { |io| io.each_line(&counter) } }
  },
  "bare-rows" => lambda { |command, _, seen|
    count(seen) { |counter| Godwit::Shell.rows(*command, &counter) }
  },
  "bare-reuse" => lambda { |command, _, seen|
    count(seen) { |counter| Godwit::Shell.rows(*command, reuse: true, &counter) }
  }
}.freeze

def memory(field) = Integer(File.read("/proc/self/status")[/^#{field}:\s+(\d+) kB/, 1]) / 1024.0

# What malloc gave is counted since the last collection, so there may be none.
def cost
  GC.start
  GC.disable
  objects = GC.stat(:total_allocated_objects)
  bytes = GC.stat(:malloc_increase_bytes)
  yield
  bytes = GC.stat(:malloc_increase_bytes) - bytes
  objects = GC.stat(:total_allocated_objects) - objects
  {
    objects: objects,
    bytes:
      bytes +
        objects *
          GC::INTERNAL_CONSTANTS.fetch(:RVALUE_SIZE) { GC::INTERNAL_CONSTANTS[:BASE_SLOT_SIZE] }
  }
end

def speed
  GC.start
  File.write("/proc/self/clear_refs", "5") # the peak begins here
  before = memory("VmRSS")
  start = Common.now
  cpu = Common.cpu
  yield
  cpu = Common.cpu - cpu
  finish = Common.now
  {
    seconds: (finish - start) / 1e9, cpu: cpu / 1e9, finish: finish,
    growth_mib: memory("VmHWM") - before, peak_mib: memory("VmHWM")
  }
end

way, what, pattern, *command = ARGV
pattern = Regexp.new(pattern)
work = WAYS.fetch(way) { abort "there are the ways #{WAYS.keys.join(", ")}" }
work.call(%w[echo warm], /warm/, Seen.new(0, 0))
seen = Seen.new(0, 0)
figures =
  ((what == "cost") ? method(:cost) : method(:speed)).call { work.call(command, pattern, seen) }
figures[:after_ms] = (figures.delete(:finish) - seen.at) / 1e6 if seen.at && figures[:finish]
Common.say(
  program: "godwit_shell", way: way, rows: seen.rows, matches: seen.matches,
  **figures.except(:finish)
)
