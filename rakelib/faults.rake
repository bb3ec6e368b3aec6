# frozen_string_literal: true

require "yaml"

# A test that no fault of the product makes fail is worth nothing.
desc "Break the product as test/faults.yml says, one fault after the other, in a copy of the " \
  "last commit: each stage that is named there must fail"
task :faults, [:only] do |_, arguments|
  require_relative "support/faults/copy"
  copy = Faults::Copy.new(File.expand_path("tmp/faults/handmade")).make("HEAD")
  faults = YAML.safe_load(copy.read("test/faults.yml"))
  unseen = faults.reject do |name, fault|
    next true if arguments[:only] && !name.include?(arguments[:only])
    whole = copy.read(fault.fetch("file"))
    unless whole.scan(fault.fetch("lines")).one?
      abort "#{name}: #{fault["file"]} has no such lines any more"
    end
    copy.write(fault["file"], whole.sub(fault["lines"]) { fault.fetch("instead") })
    stages = fault.fetch("stages").split(", ")
    output, = copy.call("bin/test", *stages)
    copy.write(fault["file"], whole)
    found = output[/^Failed:\n.*/m].to_s.scan(/^  \[(.+?)\] (\S+)/).uniq
    puts "#{name}: found " \
      "by #{found.size}: #{found.first(3).map { |stage, test| "[#{stage}] #{test}" }.join(" ")}"
    (stages - found.map(&:first)).empty?
  end
  abort "not found: #{unseen.keys.join(", ")}" if unseen.any?
end

namespace :faults do
  list = "test/faults.tsv"
  folder = File.expand_path("tmp/faults/drawn")

  desc "Draw small faults from the lines of lib, ext and work/lib into #{list}: " \
    "rake 'faults:draw[seed,count]'"
  task :draw, [:seed, :count] do |_, arguments|
    arguments.with_defaults(seed: 45, count: 150)
    require_relative "support/faults/draw"
    draw = Faults::Draw.new(Faults::Draw.sources("."), arguments[:seed].to_i)
    File.write(list, draw.draw(arguments[:count].to_i).join)
  end

  desc "Run the tests against the faults of #{list}, and write test/FAULTS.md: " \
    "rake 'faults:drawn[1,300]' stops at a fault's first finder or after 300 s, " \
    "'faults:drawn[all,3600]' runs all files. An interrupted run goes on; after " \
    "rm -r tmp/faults the next one begins with the last commit, or with the one that is " \
    "named third; a fourth argument is the folder whose faults are tried"
  task :drawn, [:stop, :budget, :commit, :only] do |_, arguments|
    arguments.with_defaults(stop: "1", budget: "300", commit: "HEAD", only: "")
    require_relative "../test/support/stages"
    require_relative "support/faults/table"
    require_relative "support/faults/trial"
    stages = Godwit::TestSupport::GATE + Godwit::TestSupport::FULL
    trial = Faults::Trial.new(folder, Faults::Fault.read(list), stages)
    trial.prepare(`git rev-parse --short #{arguments[:commit]}`.chomp)
    stop = (arguments[:stop] == "all") ? nil : arguments[:stop].to_i
    chosen = trial.faults.select { |fault| fault.path.start_with?(arguments[:only]) }
    chosen.each do |fault|
      trial.try(fault, stop: stop, budget: arguments[:budget].to_i) do |entry|
        puts "#{fault.number} #{fault.path}: #{entry["unit"]}: #{entry["found"] || "not found"}"
      end
    end
  ensure
    File.write("test/FAULTS.md", Faults::Table.new(trial).to_s) if trial&.commit
  end
end
