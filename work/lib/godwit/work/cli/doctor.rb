# frozen_string_literal: true

require_relative "listing"

module Godwit
  module Work
    module CLI
      # `godwit-work doctor`: reports why records are not handled.
      class Doctor < Listing
        summary "Reports stuck handlers, dead processes, groups without members, and the like."
        usage "doctor [--check] [--json]"
        notes "The exit status is 0 when all is well, and 1 when there is a finding."

        private

        def define(parser)
          super
          parser.on("--check", "looks for damage, which takes a while in a large log")
        end

        def call(arguments)
          accept(arguments)
          found = client.doctor(check: !!options[:check])
          options[:json] ? json(found) : print_text(found)
          Godwit::CLI::EXIT[found.findings.empty? ? :ok : :failed]
        end

        def json(found)
          [{kind: :storage, **found.storage}, *found.findings.map(&:to_h)].each do |row|
            io.puts JSON.generate(row)
          end
        end

        def print_text(found)
          lists, facts = found.storage.partition { |_, value| value.is_a?(Array) }
          io.puts Printable.text(facts.map { |name, value| "#{name}: #{value}" }.join(", "))
          lists.each { |name, lines| io.puts "#{name}:", lines.map { |line| "  #{line}" } }
          found.findings.each do |one|
            io.puts "#{one.kind}: #{Printable.text(one.text)}"
            one.details[:backtrace]&.each { |line| io.puts "  #{Printable.text(line)}" }
          end
          io.puts "all is well" if found.findings.empty?
        end
      end
    end
  end
end
