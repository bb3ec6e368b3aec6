# frozen_string_literal: true

require "test_helper"

# The extension takes no lock for what Ruby notes of a socket: another thread may have its turn in the midst.
class EndpointsTest < Godwit::TestCase
  test "what another thread binds while this one unbinds stays known" do
    meanwhile = Class.new(Godwit::PULL) do
      def _unbind(endpoint) = super.tap { Thread.new { bind("inproc://new") }.join }
    end
    pull = own(meanwhile.bind("inproc://old", context: context))
    pull.unbind("inproc://old")
    assert_equal ["inproc://new"], pull.endpoints
  end
end
