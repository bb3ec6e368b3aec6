# frozen_string_literal: true

# How many objects does a call allocate? See support/bench.rb for what narrows a run.
require_relative "support/bench"

COUNT = Bench.quick? ? 1_000 : 50_000

Bench.section("allocations", "Allocations") do |section|
  counts = Bench::Child.result(*Bench::Programs.command(:godwit, :allocations), COUNT)
  section.text "Objects per call by `GC.stat(:total_allocated_objects)`, of #{COUNT} messages of " \
    "100 B over inproc, calls without keywords. One run: counts, not times."
  section.table %w[call objects],
    [
      ["send(string)", format("%.3f", counts["send"])],
      ["recv", format("%.3f", counts["recv"])],
      ["send_many(250 strings)", format("%.2f", counts["send_many"])],
      [
        "recv_many(250), beyond one String a message",
        format("%.2f", counts["recv_many_beyond_strings"])
      ],
      [
        "recv_frames(250), beyond one Frame a frame",
        format("%.2f", counts["recv_frames_beyond_frames"])
      ]
    ]
  section.target "recv without keywords allocates the String and nothing else",
    counts["recv"],
    at_most: 1,
    digits: 3
  section.target "recv_frames allocates a Frame for each and the one Array",
    counts["recv_frames_beyond_frames"],
    at_most: 1,
    digits: 2
end
