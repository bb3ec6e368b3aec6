# frozen_string_literal: true

require "json"
require_relative "support/edge_case"

# Where mruby's C functions call Ruby: a wait there is an error. This calls the methods of mruby's
# classes with a block that waits, and with an object each of whose methods waits.
class EdgeWaitPlacesTest < EdgeCase
  # Methods whose block cannot wait, and methods that mruby's C functions call, on 3.1 and 3.3.
  # docs/edge.md lists them.
  BLOCKS = %w[].freeze
  METHODS = %w[].freeze

  APP = <<~'RUBY'
    FOUND = {}
    class Enough < Exception; end
    class Probe < BasicObject
      NAMES = %i[
        to_s inspect == eql? equal? hash <=> === =~ coerce call to_proc to_ary to_a to_str to_i to_int
        to_hash to_h to_f to_sym to_r to_c to_path to_io each each_pair succ pred size length [] []= <
        > <= >= + - * / % ** & | ^ << >> ! != -@ +@ ~ begin end first last exception message
        backtrace nil? is_a? kind_of? instance_of? respond_to? respond_to_missing? class keys dup
        clone initialize_copy superclass included extended inherited prepended method_added
        const_missing method_missing freeze frozen? object_id min max next read write close
      ]
      NAMES.each { |name| define_method(name) { |*| ::Object.look } }
    end
    CURRENT = []
    class Object
      def self.look
        sleep 0
      rescue Edge::WaitError => error
        what = error.message.split("cannot wait in ", 2)[1].split(", which", 2)[0]
        (FOUND[what] ||= []) << CURRENT[0]
      ensure
        raise Enough
      end
    end
    Point = Struct.new(:x, :y)
    SAMPLES = {
      "Array" => -> { [3, 1, 2] }, "Hash" => -> { {a: 1, "b" => 2} }, "Range" => -> { 1..3 },
      "String" => -> { +"abc" }, "Symbol" => -> { :abc }, "Integer" => -> { 5 },
      "Float" => -> { 2.5 }, "Object" => -> { Object.new }, "Struct" => -> { Point.new(1, 2) },
      "Enumerator" => -> { [1, 2].each }, "Proc" => -> { ->(*) { 1 } }, "Class" => -> { Class.new },
      "Module" => -> { Module.new }, "Exception" => -> { StandardError.new("x") },
      "Method" => -> { 5.method(:+) }, "Time" => -> { Time.at(0) },
      "Lazy" => -> { [1, 2].lazy }, "NilClass" => -> { nil }, "probes" => -> { [Probe.new, Probe.new] }
    }
    SKIPPED = %i[sleep run require _edge_evaluate loop fork abort exit exit! open trap]
    CALLS = {
      "interpolation" => -> { "#{Probe.new}" }, "Hash.new{}[]" => -> { Hash.new { Object.look }[1] },
      "Hash key" => -> { {Probe.new => 1} }, "case" => -> { case 1; when Probe.new then 1; end },
      "splat" => -> { [*Probe.new] }, "block argument" => -> { [1].each(&Probe.new) },
      "double splat" => -> { Object.new.send(:x, **Probe.new) },
      "range" => -> { Probe.new..Probe.new }, "raise" => -> { raise Probe.new },
      "rescue" => -> { begin; raise "x"; rescue Probe.new; 1; end },
      "Class.new" => -> { Class.new { Object.look } }, "Module.new" => -> { Module.new { Object.look } },
      "Array.new" => -> { Array.new(2) { Object.look } }, "Struct.new" => -> { Struct.new(:a) { Object.look } },
      "inherited" => -> { Class.new(Class.new { def self.inherited(_) = Object.look }) },
      "included" => -> { Class.new { include(Module.new { def self.included(_) = Object.look }) } },
      "const_missing" => -> { Class.new { def self.const_missing(_) = Object.look }.const_get(:Nothing) },
      "method_missing" => -> { Class.new { def method_missing(*) = Object.look }.new.nothing },
      "respond_to_missing?" => -> { Class.new { def respond_to_missing?(*) = Object.look }.new.respond_to?(:nothing) },
      "initialize" => -> { Class.new { def initialize = Object.look }.new },
      "initialize_copy" => -> { Class.new { def initialize_copy(_) = Object.look }.new.dup },
      "method_added" => -> { Class.new { def self.method_added(_) = Object.look; def x; end } },
      "format" => -> { format("%s", Probe.new) }, "format %d" => -> { format("%d", Probe.new) },
      "Comparable" => -> { Class.new { include Comparable; def <=>(_) = Object.look }.new < 1 },
      "sort" => -> { o = Class.new { def <=>(_) = Object.look }; [o.new, o.new].sort },
      "to_json" => -> { JSON.generate(Class.new { def to_json(*) = Object.look }.new) },
      "JSON to_s" => -> { JSON.generate(Class.new { def to_s = Object.look }.new) },
      "instance_exec" => -> { 1.instance_exec { Object.look } }, "catch" => -> { catch(:x) { Object.look } },
      "define_method" => -> { Class.new { define_method(:x) { Object.look } }.new.x },
      "body each" => -> { Class.new { def each = Object.look }.new.each }
    }
    def attempt(name)
      CURRENT[0] = name
      yield
    rescue Exception
      nil
    end
    def methods_of(object)
      BasicObject.instance_method(:__id__) if false
      object.methods.uniq - SKIPPED
    end
    run ->(env) {
      CALLS.each { |name, call| attempt(name) { call.call } }
      count = 0
      SAMPLES.each do |klass, make|
        (make.call.methods.uniq - SKIPPED).each do |name|
          next if name.to_s.start_with?("_")
          name_here = "#{klass}##{name}"
          [[], [1], ["a"], [Probe.new], [1, Probe.new], [Probe.new, Probe.new]].each do |arguments|
            count += 1
            attempt(name_here) { make.call.__send__(name, *arguments) { |*| Object.look } }
            attempt(name_here) { make.call.__send__(name, *arguments) } unless arguments.size < 1
          end
        end
      end
      [200, {}, [JSON.generate("count" => count, "found" => FOUND)]]
    }
  RUBY

  test "docs/edge.md lists the calls below which no wait is possible" do
    server = edge(APP, server: "godwit_timeout 100s;")
    answer = JSON.parse(server.get("/").body)
    found = answer["found"].transform_values(&:uniq)
    puts JSON.pretty_generate(found) if ENV["GODWIT_TEST_VERBOSE"]
    assert_operator answer["count"], :>, 1_000
    assert_equal [], found.keys
  end
end
