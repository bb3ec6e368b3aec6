# frozen_string_literal: true

# first_ten.rb PATTERN [COMMAND…]: prints the first ten matching rows of a command, their cost, and
# the remaining processes of the command. The default command is a find over the whole machine.
require "godwit"

pattern = Regexp.new(ARGV.fetch(0) { abort "usage: first_ten.rb PATTERN [COMMAND…]" })
command = ARGV.drop(1)
command = %w[find / -xdev -name *.rb] if command.empty?
now = -> { Process.clock_gettime(Process::CLOCK_MONOTONIC) }

Godwit::Shell.rows("true").to_a # what is loaded at first use is not counted
GC.start
GC.disable # malloc_increase_bytes counts from the last collection on
objects = GC.stat(:total_allocated_objects)
bytes = GC.stat(:malloc_increase_bytes)
start = now.call
tenth = nil

stream = Godwit::Shell.rows(*command, err: :discard)
matches = stream.lazy.select { |row| row.match?(pattern) && (tenth = now.call) }.first(10)

finish = now.call
objects = GC.stat(:total_allocated_objects) - objects
bytes = GC.stat(:malloc_increase_bytes) - bytes + 40 * objects
left = Dir.children("/proc").count do |pid|
  File.read("/proc/#{pid}/stat")[/\) \S (\d+)/, 1].to_i == Process.pid
rescue SystemCallError
  false # it ended meanwhile, and was another's
end

puts matches
puts format("%d of %d rows after %.2f s; %.2f MiB in %d objects; %s %.1f ms after the last of " \
  "them, and %d of its processes are left", matches.size, stream.status.rows, finish - start,
  bytes / 1048576.0, objects, stream.status, tenth ? (finish - tenth) * 1000 : 0, left)
