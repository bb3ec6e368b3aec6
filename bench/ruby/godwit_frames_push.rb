# frozen_string_literal: true

# godwit_frames_push.rb ENDPOINT SIZE COUNT WARMUP copied|in-place: as bench/c/frames_push.c, with
# godwit and a frozen String.
require_relative "godwit_frames"

GodwitFrames.push(Common.run(ARGV), ARGV[4])
