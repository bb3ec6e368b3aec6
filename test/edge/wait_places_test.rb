# frozen_string_literal: true

require "json"
require_relative "support/edge_case"

# mruby's C functions call some Ruby methods. A wait in such a method is an error that names the
# method. docs/edge.md lists these methods.
class EdgeWaitPlacesTest < EdgeCase
  PAGE = "#{EdgeBuild::ROOT}/docs/edge.md"
  # Method => the outcome of a wait in this method on mruby 3.3, where that is no WaitError.
  OTHERWISE =
    if MRubyBuild.version.to_s.start_with?("3.1")
      {}
    else
      {"exception" => "TypeError: exception class/object expected", "extended" => "waited"}
    end
  TABLE = /<!-- begin cannot wait -->\n(.*?)<!-- end cannot wait -->/m

  # REFUSED: method that the error names => expressions. Each expression waits once.
  APP = <<~'RUBY'
    def waits = sleep(0)
    def object(*names) = Class.new { names.each { |name| define_method(name) { |*| waits } } }.new
    class Key
      def hash = 1
      def eql?(_) = waits
    end
    LARGE = (0..100).map { |number| [number, 1] }.to_h
    REFUSED = {
      "to_s" => {
        "an interpolation" => -> { "#{object(:to_s)}" },
        "join" => -> { [object(:to_s)].join },
        "format" => -> { format("%s", object(:to_s)) },
        "String" => -> { String(object(:to_s)) },
        "a key of JSON.generate" => -> { JSON.generate(object(:to_s) => 1) }
      },
      "inspect" => {
        "an error's text" => -> { 1.instance_variable_get(object(:inspect)) },
        "format" => -> { format("%p", object(:inspect)) }
      },
      "to_json" => {"JSON.generate" => -> { JSON.generate([object(:to_json)]) }},
      "to_a" => {"[*x]" => -> { [*object(:to_a)] }, "Array" => -> { Array(object(:to_a)) }},
      "to_proc" => {"map" => -> { [1].map(&object(:to_proc)) }},
      "a block" => {
        "Hash.new" => -> { Hash.new { waits }[1] },
        "Class.new" => -> { Class.new { waits } },
        "Module.new" => -> { Module.new { waits } },
        "Struct.new" => -> { Struct.new(:a) { waits } },
        "ObjectSpace.each_object" => -> { ObjectSpace.each_object(Class) { waits } }
      },
      "hash" => {"a key of a large Hash" => -> { LARGE[object(:hash)] }},
      "eql?" => {"a key" => -> { {Key.new => 1}[Key.new] }},
      "==" => {
        "index" => -> { [object(:==)].index(1) },
        "delete" => -> { [object(:==)].delete(1) }
      },
      "<=>" => {"a Range" => -> { object(:<=>)..2 }},
      "+" => {"a Rational" => -> { Rational(1, 2) + object(:+) }},
      "*" => {"a Rational" => -> { Rational(1, 2) * object(:*) }},
      "exception" => {"raise" => -> { raise object(:exception) }},
      "initialize_copy" => {"dup" => -> { object(:initialize_copy).dup }},
      "respond_to_missing?" => {
        "respond_to?" => -> { object(:respond_to_missing?).respond_to?(:nothing) }
      },
      "const_missing" => {
        "a constant" => -> { Class.new { def self.const_missing(_) = waits }.const_get(:Nothing) }
      },
      "inherited" => {
        "a class" => -> { Class.new(Class.new { def self.inherited(_) = waits }) }
      },
      "extended" => {
        "extend" => -> { Object.new.extend(Module.new { def self.extended(_) = waits }) }
      },
      "method_added" => {
        "def" => -> { Class.new { def self.method_added(_) = waits }.class_eval { def x; end } }
      }
    }
    MAY = {
      "each of a Hash" => -> { {a: 1}.each { waits } },
      "sort_by" => -> { [2, 1].sort_by { |one| waits; one } },
      "fetch" => -> { {}.fetch(1) { waits } },
      "Array.new" => -> { Array.new(3) { waits } },
      "instance_eval" => -> { 1.instance_eval { waits } },
      "define_method" => -> { object(:wait).wait },
      "method_missing" => -> { object(:method_missing).nothing },
      "send" => -> { object(:wait).__send__(:wait) }
    }
    def outcomes(calls)
      calls.map { |call, work| [call, outcome { work.call; "waited" }] }.to_h
    end
  RUBY

  def setup
    super
    evaluate(APP)
  end

  test "below a C function a wait raises WaitError, which names the method" do
    refused = ask("REFUSED.map { |name, calls| [name, outcomes(calls)] }.to_h")
    refused.each do |name, calls|
      calls.each do |call, outcome|
        next if outcome == OTHERWISE[name]
        assert_match(/\AEdge::WaitError: cannot wait in #{Regexp.escape(name)}/, outcome, call)
      end
    end
  end

  test "blocks of other methods wait" do
    assert_empty ask("outcomes(MAY)").reject { |_, outcome| outcome == "waited" }
  end

  test "docs/edge.md lists these methods, and no others" do
    rows = File.read(PAGE)[TABLE, 1].lines.drop(2).map { |row| row.split("|")[1].strip }
    blocks, methods = rows.partition { |row| row.start_with?("the block of ") }
    names = methods.flat_map { |row| row.scan(/`([^`]+)`/).flatten }
    calls, refused = ask("[REFUSED['a block'].keys, REFUSED.keys]")
    assert_equal calls.sort, blocks.join.scan(/`(\w+\.\w+)/).flatten.sort
    assert_equal (refused - ["a block"]).sort, names.sort
  end
end
