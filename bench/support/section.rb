# frozen_string_literal: true

module Bench
  # What one file found, as a section of RESULTS.md: text, tables, and the issue's targets with a
  # verdict that is computed here.
  class Section
    ORDER = %w[
      throughput latency frames proxy loop runtimes sockets busy_thread allocations compat logger
      shell security perf ttcp work work_kafka mruby edge package beside compare
    ].freeze
    RESULTS = "RESULTS.md"
    HEAD = <<~MARKDOWN
      # Benchmarks

      `rake bench` writes this page (one section: `rake bench:throughput`; `rake -T bench` lists
      them); do not edit it. The contenders run in turns. Figures are medians over the runs of a
      section. A ratio is the median divided by the median of libzmq's own C in the same section.
      The C, Ruby and Python programs (`bench/c`, `bench/ruby`, `bench/python`) use the same libzmq,
      with its defaults, over the loopback of one machine.
    MARKDOWN

    def initialize(name, title, machine = Machine)
      @name = name
      @parts = ["## #{title}"]
      @targets = []
      describe(machine)
    end

    def text(paragraph) = @parts << paragraph.strip

    def heading(words) = @parts << "### #{words}"

    # @param head [Array<String>] the columns; all but the first are numbers
    def table(head, rows)
      lines = [head, ["---", *Array.new(head.size - 1, "---:")], *rows]
      @parts << lines.map { |cells| "| #{cells.join(" | ")} |" }.join("\n")
    end

    # A target of the issue. `value` is nil where this run did not measure it.
    def target(label, value, at_least: nil, at_most: nil, more_than: nil, less_than: nil, digits: 3)
      sign, goal, reached =
        [
          [">=", at_least, value && at_least && value >= at_least],
          ["<=", at_most, value && at_most && value <= at_most],
          [">", more_than, value && more_than && value > more_than],
          ["<", less_than, value && less_than && value < less_than]
        ].find { |_, limit, _| limit }
      verdict = reached ? "reached" : "**missed**"
      @targets << [
        label, "#{sign} #{goal}", value ? format("%.#{digits}f", value) : "-",
        value ? verdict : "not measured"
      ]
    end

    def absent(reasons)
      reasons.each { |label, reason| text "Not in this run: #{label} (#{reason})." }
    end

    def finish
      unless @targets.empty?
        heading "Targets"
        table ["target", "goal", "measured", "verdict"], @targets
      end
      body = @parts.join("\n\n")
      puts body
      write(Bench.whole? ? File.join(FOLDER, RESULTS) : File.join(BUILD, RESULTS), body)
    end

    private

    def describe(machine)
      versions = machine.versions.map { |name, version| "#{name} #{version}" }.join(", ")
      text "#{machine.date}. #{machine.line}. #{versions}."
      files = machine.libzmqs
      if files.size > 1
        text "**The contenders load different libzmqs (#{files.join(", ")}): these ratios " \
          "compare libraries.**"
      end
      unless Bench.whole?
        text "**A part of the whole, or the short form: these figures prove nothing.**"
      end
    end

    # Replaces this file's section and leaves the others.
    def write(path, body)
      sections =
        (
          if File.exist?(path)
            File.read(path).scan(/^<!-- begin (\w+) -->\n(.*?)\n<!-- end \1 -->$/m).to_h
          else
            {}
          end
        )
      sections[@name] = body
      marked =
        ORDER.filter_map do |name|
          "<!-- begin #{name} -->\n#{sections[name]}\n<!-- end #{name} -->" if sections[name]
        end
      notes = File.join(FOLDER, "NOTES.md")
      parts = [HEAD.strip, *marked]
      parts << File.read(notes).strip if File.exist?(notes)
      FileUtils.mkdir_p(File.dirname(path))
      File.write(path, "#{parts.join("\n\n")}\n")
      warn "written: #{path.delete_prefix("#{ROOT}/")}"
    end
  end
end
