# frozen_string_literal: true

require "rbconfig"

module Godwit
  # The sample output in the pages: a block whose first line is `$ godwit …` or `$ ttcp …` holds
  # what this command printed on one machine. The figures differ in each run.
  class Samples
    PAGES = %w[docs/perf.md docs/ttcp.md].freeze
    BLOCK = /^```text\n\$ (?<command>(?:godwit|ttcp) .*)\n(?:.*\n)*?```$/
    GODWIT = [RbConfig.ruby, "-Ilib", "exe/godwit"].freeze

    class << self
      # Runs the commands, and writes their output into the pages.
      def write
        PAGES.each do |page|
          text = File.read(page)
          File.write(page, text.gsub(BLOCK) { block($~[:command]) })
        end
      end

      private

      def block(command)
        puts command
        others = others(command).map { |words| start(words) }
        output = IO.popen([*words(command), err: %i[child out]], &:read)
        "```text\n$ #{command}\n#{output.gsub(/ +$/, "").chomp}\n```"
      ensure
        others&.each { |io| Process.kill(:TERM, io.pid) && io.close }
      end

      def words(command)
        name, *rest = command.split
        (name == "ttcp") ? [*GODWIT, "ttcp", *rest] : [*GODWIT, *rest]
      end

      # @return [Array<String>] the commands of the other side
      def others(command)
        return ["ttcp -r -s"] if command.start_with?("ttcp -t")
        return [] unless command.include?("perf matrix")
        command.scan(/\w+=(\S+)/).map { |(endpoint)| "godwit perf serve #{endpoint} --agent" }
      end

      # Waits for its first line, which says that it is ready.
      def start(command) = IO.popen(words(command)).tap(&:gets)
    end
  end
end
