# frozen_string_literal: true

require "test_helper"
require "open3"
require_relative "../../api/generate"

# All numbers of api/*.yml, from which both backends get theirs, against this machine's zmq.h.
class HeaderTest < Godwit::TestCase
  def compile(source)
    flags, = Open3.capture2("pkg-config", "--cflags", "libzmq")
    Open3.capture2e("cc", *flags.split, "-fsyntax-only", "-x", "c", "-", stdin_data: source)
  end

  test "they are zmq.h's" do
    source = Generate.header_probe(*Generate.tables)
    %w[ZMQ_SUB ZMQ_CHANNEL ZMQ_DONTWAIT ZMQ_EVENT_PIPES_STATS ETERM ZMQ_LINGER
      ZMQ_DELAY_ATTACH_ON_CONNECT ZMQ_BLOCKY].each do |name|
      assert_includes source, "_Static_assert(#{name} == "
    end
    said, status = compile(source)
    assert_predicate status, :success?, said
  end

  test "a wrong value, and a name that zmq.h does not have, would be found" do
    constants, errors, options = Generate.tables
    linger = options.fetch("socket").find { |option| option[:name] == :linger }
    breaks = {
      /ZMQ_PUSH is not 9/ => -> { constants["types"]["PUSH"] = 9 },
      /ETERM is not 1/ => -> { errors["numbers"]["ETERM"] = 1 },
      /ZMQ_LINGER is not 18/ => -> { linger[:id] = 18 },
      /ZMQ_EVENT_LISTENS/ => -> { constants["events"]["LISTENS"] = 8 }
    }
    breaks.each_value(&:call)
    said, status = compile(Generate.header_probe(constants, errors, options))
    refute_predicate status, :success?
    breaks.each_key { |warnings| assert_match warnings, said }
  end
end
