# frozen_string_literal: true

namespace :stages do
  # @param path [String] the output of bin/test
  # @return [Array(Hash{String => String}, String, String)] seconds and counts by stage, the whole
  #   time, the last line
  read = lambda do |path|
    text = File.read(path)
    rows =
      text
        .scan(/^  (\S.*?) +(\d+\.\d) s  (\d+) passed/)
        .to_h { |name, seconds, passed| [name, "#{seconds} s, #{passed} tests"] }
    [
      rows, text[/\d+ stages, \d+ jobs, .*/],
      text.scan(/^\d+ passed, \d+ failed, \d+ skipped$/).last
    ]
  end

  desc "Write test/STAGES.md from what `bin/test`, and `bin/test --full` if it ran, printed: " \
    "rake 'stages:write[gate,full]'"
  task :write, [:gate, :full] do |_, arguments|
    runs = arguments.to_a.map { |path| read.call(path) }
    titles = ["`bin/test`", "`bin/test --full`"].first(runs.size)
    names = runs.flat_map { |rows, _| rows.keys }.uniq
    table = names.map { |name| "| #{name} | #{runs.map { |rows, _| rows[name] }.join(" | ")} |" }
    File.write("test/STAGES.md", <<~MARKDOWN)
      # Seconds of each stage of `bin/test`

      `rake stages:write` made this page from the output of #{titles.join(" and of ")} on 2 cores.
      Stages run side by side, four at a time, so each takes longer than alone.

      | stage | #{titles.join(" | ")} |
      | --- |#{" ---: |" * runs.size}
      #{table.join("\n")}
      | **in all** | #{runs.map { |_, time, _| time }.join(" | ")} |
      | **outcome** | #{runs.map { |_, _, last| last }.join(" | ")} |
    MARKDOWN
  end
end
