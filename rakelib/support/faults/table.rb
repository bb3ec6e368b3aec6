# frozen_string_literal: true

module Faults
  # test/FAULTS.md: which test files find the drawn faults.
  class Table
    def initialize(trial)
      @trial = trial
      @run, @waiting =
        trial.faults.partition { |fault| trial.results_of(fault).any? || whole?(fault) }
      @found, @missed = @run.partition { |fault| finders(fault).any? }
    end

    def to_s = <<~MARKDOWN
      # Which test files find drawn faults

      `rake faults:drawn` wrote this page from commit #{@trial.commit}.

      * drawn faults that ran: #{@run.size} of #{@run.size + @waiting.size}
      * found: #{@found.size}
      * not found by all files that may find them: #{@missed.count { |fault| whole?(fault) }}
      * not found so far, other files did not run: #{@missed.count { |fault| !whole?(fault) }}

      A fault is one change of one line of `lib`, `ext` or `work/lib` (test/faults.tsv). A test file
      runs against a fault if one of its tests comes to the line. The stages of mruby, the edge,
      JRuby and Kafka do not run. "Files" are those that ran against the fault, and those that may
      find it and did not run: no test finds a fault whose second number is 0.

      ## Not found so far

      #{rows(@missed, "judgement", &:note)}

      ## Found

      #{rows(@found, "found by") { |fault| finders(fault).sort.join(", ") }}

      ## Test files, by the faults that only they find

      These are the #{@run.count { |fault| whole?(fault) }} faults against which all files ran
      that may find them.

      | test file | found | by it alone |
      | --- | ---: | ---: |
      #{by_file.map { |name, counts| "| #{name} | #{counts.join(" | ")} |" }.join("\n")}
    MARKDOWN

    private

    def rows(faults, last)
      head = "| fault | line | change | files | #{last} |\n| ---: | --- | --- | ---: | --- |"
      faults.inject(head) do |text, fault|
        cells = [
          fault.number, "#{fault.path}:#{fault.line_number}",
          "#{fault.kind}: `#{fault.line.gsub("|", "\\|")}`",
          "#{@trial.results_of(fault).size}; #{@trial.remaining(fault).size}", yield(fault)
        ]
        "#{text}\n| #{cells.join(" | ")} |"
      end
    end

    # Whether all files ran that may find it.
    def whole?(fault) = @trial.remaining(fault).empty?

    # @return [Array<String>] the test files that find it
    def finders(fault)
      @trial.results_of(fault).select { |one| one["found"] }.map { |one| short(one) }
    end

    def short(result) = result["unit"].sub("_test.rb", "")

    def by_file
      counts = Hash.new { |hash, name| hash[name] = [0, 0] }
      @run.select { |fault| whole?(fault) }.each do |fault|
        @trial.results_of(fault).each { |result| counts[short(result)] }
        found = finders(fault).each { |name| counts[name][0] += 1 }
        counts[found.first][1] += 1 if found.one?
      end
      counts.sort_by { |name, (all, alone)| [-alone, -all, name] }
    end
  end
end
