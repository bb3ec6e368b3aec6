# frozen_string_literal: true

# godwit_frames_pull.rb ENDPOINT SIZE COUNT WARMUP strings|frames|batches: as bench/c/frames_pull.c,
# with godwit.
require_relative "godwit_frames"

GodwitFrames.pull(Common.run(ARGV), ARGV[4])
