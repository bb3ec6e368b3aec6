# frozen_string_literal: true

# Child processes of tests load this file first.

# $VERBOSE instead of -W: under -W Ruby prints the RUBY_GC_… variables that are set, in this child
# and in its children.
$VERBOSE = true
ENV.delete("RUBY_GC_HEAP_FREE_SLOTS_MAX_RATIO")

# A child past its deadline gets QUIT and prints its threads' stacks before it is killed. Java
# prints the stacks at QUIT by itself.
RUBY_ENGINE == "jruby" || Signal.trap("QUIT") do
  Thread.list.each do |thread|
    warn "", thread.inspect, *(thread.backtrace || []).map { |line| "  #{line}" }
  end
end
# nohup makes bin/test and its children ignore HUP.
Signal.trap("HUP", "DEFAULT") unless RUBY_ENGINE == "jruby"

$stdout.sync = true

# On JRuby GC.start does nothing, but JRuby.gc collects.
require "jruby" if RUBY_ENGINE == "jruby"
def collect_garbage = (RUBY_ENGINE == "jruby") ? JRuby.gc : GC.start

def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)

def descriptors = Dir.children("/proc/self/fd").size

# Lowers the limit of descriptors, and opens files until none is free.
# @return [Array<File>]
def take_descriptors(limit)
  Process.setrlimit(:NOFILE, limit)
  files = []
  loop { files << File.open(File::NULL) }
rescue Errno::EMFILE
  files
end

# A child's program waits for waiting threads by the same methods as a test.
require_relative "waiters"
Object.include Godwit::TestSupport::Waiters
