# frozen_string_literal: true

# scenarios_test.rb runs this program. It runs the scenarios in ARGV, and prints a line before each.
require_relative "prelude"

ARGV.each do |name|
  puts "== #{name}"
  begin
    load File.join(__dir__, "#{name}.rb")
  rescue => error
    puts "raised #{error.class}: #{error.message}", error.backtrace.first(3)
  end
end
