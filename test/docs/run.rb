# frozen_string_literal: true

require_relative "page"

# A child process of examples_test.rb: run.rb PAGE LINE
Page.run(ARGV[0], Integer(ARGV[1]))
