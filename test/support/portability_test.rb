# frozen_string_literal: true

require "test_helper"
require_relative "../../rakelib/support/portability"

# `rake lint` finds Ruby code that mruby cannot run.
class PortabilityTest < Godwit::TestCase
  REJECTED = [
    "x = defined?(Foo)", "module A\n  module_function\n  def b = 1\nend", "\"a\" if text == /a/",
    "x = /\#{a}/", "x = %r{a}", "a =~ b", "a.match?(b)", "x = $1", "Regexp.new(a)",
    "Thread.new {}", "::Thread.current", "Thread::Queue.new",
    "begin\n  a\nrescue ThreadError\n  b\nend", "Process.clock_gettime(1)",
    "Ractor.make_shareable(a)", "a.b(Encoding::UTF_8)", "a.force_encoding(b)",
    "Struct.new(:a, keyword_init: true)", "x = 9_223_372_036_854_775_808", "x = 2**63 - 1",
    "begin\n  a\nrescue => error\n  raise b, cause: nil\nend",
    "begin\n  a\nrescue => error\n  raise\nend", "x = $!", "warn \"a\"",
    "error.full_message(highlight: false)", "class A\n  private_class_method :new\nend",
    "def self.new(*a)\n  block_given?\nend", "def a(b: 1)\n  yield if block_given?\nend",
    "def a(**b)\n  yield if block_given?\nend", "a.public_send(:b)", "[1].sum",
    "def a = b ? super : c", "def a(b: 1)\n  super\nend", "a.delete(\"0-9\")",
    "x = {**a, b: 1}", "a(**b, **c)", "require \"a\"", "require_relative \"a\"",
    "autoload :A, \"a\""
  ].freeze

  ACCEPTED = [
    "def a\n  b ? super : c\nend", "def a = b || super",
    "def a(**b)\n  super\nend", "def a(b: 1)\n  super(b: b)\nend",
    "module A\n  def self.b = 1\nend", "x = 0x7fff_ffff_ffff_ffff", "x = 2**62",
    "def a\n  block_given?\nend", "def a(b: 1, &block)\n  block&.call\nend",
    "begin\n  a\nrescue => error\n  raise error\nend", "module_function :a",
    "def a\n  return super if b\n  c\nend", "Godwit::Timeout.now", "x = \"Thread\" # a Regexp",
    "sum = 1", "x = {a: 1, **b}", "a(**b)", "a.delete(\"-\")"
  ].freeze

  test "it rejects what mruby lacks, and accepts the rest" do
    REJECTED.each { |source| assert_equal 1, Portability.in_source(source).size, source }
    ACCEPTED.each { |source| assert_empty Portability.in_source(source), source }
  end

  test "a problem has path and line" do
    assert_equal ["a.rb:2: mruby lacks defined?"],
      Portability.in_source("\ndefined?(a)", "a.rb")
  end
end
