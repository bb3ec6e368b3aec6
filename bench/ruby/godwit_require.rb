# frozen_string_literal: true

# godwit_require.rb: the seconds of `require "godwit"`.
start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
require "godwit"
seconds = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
require_relative "common"
Common.say(program: "godwit_require", seconds: seconds)
