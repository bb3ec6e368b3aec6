# frozen_string_literal: true

# A child process of scenarios_test.rb: runs the scenarios named, each after a line that names it.
require_relative "prelude"

ARGV.each do |name|
  puts "== #{name}"
  begin
    load File.join(__dir__, "#{name}.rb")
  rescue => error
    puts "raised #{error.class}: #{error.message}", error.backtrace.first(3)
  end
end
