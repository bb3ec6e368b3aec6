# frozen_string_literal: true

require "test_helper"
require_relative "assertions"

class PairTest < Godwit::TestCase
  include Conformance::Assertions

  each_transport("a PAIR has one peer: a second peer's messages do not arrive") do |transport|
    a, b = connected_pair(:PAIR, :PAIR, transport: transport)
    b << "first"
    assert_equal "first", a.recv(timeout: 5)
    second = open_socket(:PAIR, linger: 0).connect(a.last_endpoint)
    second.send_nonblock("second", exception: false)
    5.times do |i|
      assert_flows(b, a, "b #{i}")
      assert_flows(a, b, "a #{i}")
    end
    refute_predicate a, :readable?
  end

  test "after its peer has gone a PAIR takes another" do
    a = open_socket(:PAIR).bind(endpoint_for(:inproc))
    3.times do |i|
      # A peer that connects before libzmq has released the last one gets nothing through, so it
      # reconnects.
      peer = eventually do
        newcomer = open_socket(:PAIR, linger: 0).connect(a.last_endpoint)
        newcomer.send_nonblock("peer #{i}", exception: false)
        (a.recv(timeout: 0.05, exception: false) == "peer #{i}") ? newcomer : newcomer.close
      end
      assert_flows(a, peer, "welcome #{i}")
      peer.close
    end
  end

  test "two threads of a process talk over inproc" do
    here, there = connected_pair(:PAIR, :PAIR, transport: :inproc)
    in_thread { there.each { |message| there << "#{message}!" } }
    100.times do |i|
      here << i.to_s
      assert_equal "#{i}!", here.recv(timeout: 5)
    end
  end
end
