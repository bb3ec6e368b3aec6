# frozen_string_literal: true

# libzmq: test_ancillaries, test_base85, test_capabilities, test_conflate, test_last_endpoint
# libzmq: test_pair_inproc, test_pair_ipc, test_pair_tcp
# libzmq: test_rebind_ipc, test_reqrep_inproc, test_reqrep_ipc, test_reqrep_tcp
# libzmq: test_security_curve, test_security_plain
# libzmq: test_spec_dealer, test_spec_pushpull, test_spec_rep, test_spec_req, test_spec_router
# libzmq: test_sodium, test_stream, test_stream_disconnect, test_sub_forward

require "test_helper"

# The scenarios in the folder plain, which mruby can run too: each uses one thread and one process.
# test/mruby/plain.rb runs the same files on mruby.
class PlainTest < Godwit::TestCase
  under_gc_stress
end

# Methods that scenario files call to define a test.
module Plain
  def self.scenario(name, &body) = PlainTest.test(name, &body)

  # On mruby the same method defines tests for tcp and inproc only.
  def self.each_transport(name, &body) = PlainTest.each_transport(name, &body)
end

require_relative "plain/support/helpers"
PlainTest.include(Plain::Helpers)
Dir[File.join(__dir__, "plain/*.rb")].sort.each { |path| require path }
