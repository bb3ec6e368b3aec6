# frozen_string_literal: true

# Loaded first by the child processes of tests: a child that goes past its deadline is asked where it is before it is killed.
Signal.trap("QUIT") do
  Thread.list.each { |thread| warn "", thread.inspect, *(thread.backtrace || []).map { |line| "  #{line}" } }
end
$stdout.sync = true
