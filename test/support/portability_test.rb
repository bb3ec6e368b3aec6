# frozen_string_literal: true

require "test_helper"
require_relative "../../rakelib/support/portability"

# `rake lint` finds Ruby that mruby lacks.
class PortabilityTest < Godwit::TestCase
  REJECTED = {
    "defined?" => "x = defined?(Foo)",
    "bare module_function" => "module A\n  module_function\n  def b = 1\nend",
    "Regexp" => "\"a\" if text == /a/",
    "Regexp with interpolation" => "x = /\#{a}/",
    "%r" => "x = %r{a}",
    "=~" => "a =~ b",
    "match?" => "a.match?(b)",
    "a group of a Regexp" => "x = $1",
    "Regexp, its class" => "Regexp.new(a)",
    "Thread" => "Thread.new {}",
    "::Thread" => "::Thread.current",
    "Thread::Queue" => "Thread::Queue.new",
    "ThreadError" => "begin\n  a\nrescue ThreadError\n  b\nend",
    "Process" => "Process.clock_gettime(1)",
    "Ractor" => "Ractor.make_shareable(a)",
    "Encoding" => "a.b(Encoding::UTF_8)",
    "force_encoding" => "a.force_encoding(b)",
    "keyword_init:" => "Struct.new(:a, keyword_init: true)",
    "a literal of 2**63" => "x = 9_223_372_036_854_775_808",
    "2**63" => "x = 2**63 - 1",
    "cause: nil" => "begin\n  a\nrescue => error\n  raise b, cause: nil\nend",
    "a bare raise" => "begin\n  a\nrescue => error\n  raise\nend",
    "$!" => "x = $!",
    "warn" => "warn \"a\"",
    "full_message" => "error.full_message(highlight: false)",
    "private_class_method" => "class A\n  private_class_method :new\nend",
    "block_given? in def new" => "def self.new(*a)\n  block_given?\nend",
    "block_given? beside a keyword" => "def a(b: 1)\n  yield if block_given?\nend",
    "block_given? beside **" => "def a(**b)\n  yield if block_given?\nend",
    "public_send" => "a.public_send(:b)",
    "sum" => "[1].sum",
    "super in a ternary of an endless def" => "def a = b ? super : c",
    "super without arguments beside a keyword" => "def a(b: 1)\n  super\nend",
    "a range of characters" => "a.delete(\"0-9\")",
    "** first in a Hash" => "x = {**a, b: 1}",
    "** first among arguments" => "a(**b, **c)",
    "require" => "require \"a\"",
    "require_relative" => "require_relative \"a\"",
    "autoload" => "autoload :A, \"a\""
  }.freeze

  ACCEPTED = [
    "def a\n  b ? super : c\nend", "def a = b || super",
    "def a(**b)\n  super\nend", "def a(b: 1)\n  super(b: b)\nend",
    "module A\n  def self.b = 1\nend", "x = 0x7fff_ffff_ffff_ffff", "x = 2**62",
    "def a\n  block_given?\nend", "def a(b: 1, &block)\n  block&.call\nend",
    "begin\n  a\nrescue => error\n  raise error\nend", "module_function :a",
    "def a\n  return super if b\n  c\nend", "Godwit::Timeout.now", "x = \"Thread\" # a Regexp",
    "sum = 1", "x = {a: 1, **b}", "a(**b)", "a.delete(\"-\")"
  ].freeze

  REJECTED.each do |name, source|
    test "it rejects #{name}" do
      assert_equal 1, Portability.in_source(source).size, source
    end
  end

  test "it accepts the rest" do
    ACCEPTED.each { |source| assert_empty Portability.in_source(source), source }
  end

  test "a problem has path and line" do
    assert_equal ["a.rb:2: mruby lacks defined?"],
      Portability.in_source("\ndefined?(a)", "a.rb")
  end

  test "the files of the manifests pass" do
    assert_empty Portability.problems
  end
end
