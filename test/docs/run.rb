# frozen_string_literal: true

require_relative "page"

# A child process of examples_test.rb: run.rb PAGE LINE
example = Page.new(ARGV[0]).example(Integer(ARGV[1]))
# The examples are our own pages.
# standard:disable Security/Eval
eval(Page.program(example), TOPLEVEL_BINDING, File.join(Page::ROOT, example.page), example.line)
# standard:enable Security/Eval
