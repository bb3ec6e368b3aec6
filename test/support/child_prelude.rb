# frozen_string_literal: true

# Loaded first by the child processes of tests.

# Not -W: with it Ruby prints its collector's setting (ADR 23), and so would this child's own
# children.
$VERBOSE = true
ENV.delete("RUBY_GC_HEAP_FREE_SLOTS_MAX_RATIO")

# A child that exceeds its deadline prints its stacks before it is killed. Java prints them by
# itself.
RUBY_ENGINE == "jruby" || Signal.trap("QUIT") do
  Thread.list.each do |thread|
    warn "", thread.inspect, *(thread.backtrace || []).map { |line| "  #{line}" }
  end
end
# A bin/test started by nohup ignores the signal, and its children with it.
Signal.trap("HUP", "DEFAULT") unless RUBY_ENGINE == "jruby"

$stdout.sync = true

# JRuby's GC.start does nothing.
require "jruby" if RUBY_ENGINE == "jruby"
def collect_garbage = (RUBY_ENGINE == "jruby") ? JRuby.gc : GC.start

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def descriptors = Dir.children("/proc/self/fd").size

# A program waits for its own waiting threads as a test does.
require_relative "waiters"
Object.include Godwit::TestSupport::Waiters
