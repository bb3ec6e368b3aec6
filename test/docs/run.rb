# frozen_string_literal: true

require_relative "page"

# Runs an example of a page in a child process of examples_test.rb: run.rb PAGE LINE
module RunExample
  class << self
    def call(page, example)
      beside = page.beside(example)
      ports = Page.ports([*beside, example])
      children = beside.map { |one| fork { run(one, ports) } }
      run(example, ports)
    ensure
      children&.each { |child| Process.kill(:TERM, child) }
      children&.each { |child| Process.wait(child) }
    end

    private

    # The eval runs trusted code: the examples are in Godwit's own pages.
    # standard:disable Security/Eval
    def run(one, ports)
      eval(Page.program(one, ports), TOPLEVEL_BINDING, File.join(Page::ROOT, one.page), one.line)
    end
    # standard:enable Security/Eval
  end
end

page = Page.new(ARGV[0])
RunExample.call(page, page.example(Integer(ARGV[1])))
