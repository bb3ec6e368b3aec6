# frozen_string_literal: true

require "test_helper"
require "open3"
require_relative "../../api/generate"

# Compares all numbers of api/*.yml, which both backends use, with this machine's zmq.h.
class HeaderTest < Godwit::TestCase
  test "they are zmq.h's" do
    source = Generate.header_probe(*Generate.tables)
    %w[ZMQ_SUB ZMQ_CHANNEL ZMQ_DONTWAIT ZMQ_EVENT_PIPES_STATS ETERM ZMQ_LINGER
      ZMQ_DELAY_ATTACH_ON_CONNECT ZMQ_BLOCKY].each do |name|
      assert_includes source, "_Static_assert(#{name} == "
    end
    flags, = Open3.capture2("pkg-config", "--cflags", "libzmq")
    said, status = Open3.capture2e("cc", *flags.split, "-fsyntax-only", "-x", "c", "-",
      stdin_data: source)
    assert_predicate status, :success?, said
  end
end
