# frozen_string_literal: true

require "test_helper"

# The scenarios of plain/ in the Ruby that mruby has too: one thread, one process, inproc and tcp.
# test/mruby/plain.rb runs the same files on mruby.
class PlainTest < Godwit::TestCase
end

# What a scenario file calls.
module Plain
  def self.scenario(name, &body) = PlainTest.test(name, &body)

  def self.each_transport(name, &body)
    PlainTest.each_transport(name, only: %i[tcp inproc], &body)
  end
end

require_relative "plain/support/helpers"
PlainTest.include(Plain::Helpers)
Dir[File.join(__dir__, "plain/*.rb")].sort.each { |path| require path }
