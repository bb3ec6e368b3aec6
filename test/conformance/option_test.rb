# frozen_string_literal: true

require_relative "../test_helper"

# Option alone, against any libzmq that the test invents.
class OptionTest < Godwit::TestCase
  OPTIONS = Godwit::Options

  def test_a_newer_libzmq_brings_its_options
    topics = OPTIONS.fetch(:topics_count)
    error =
      assert_raises(Godwit::UnsupportedError) { topics.check_supported("4.3.4", ->(_) { true }) }
    assert_includes error.message, "needs libzmq 4.3.5 or newer; this is 4.3.4"
    assert_same topics, topics.check_supported("4.3.5", ->(_) { false })
    assert_same topics, topics.check_supported("4.4.0", ->(_) { false })
  end

  def test_drafts_and_features_are_asked_for
    notify = OPTIONS.fetch(:router_notify)
    error =
      assert_raises(Godwit::UnsupportedError) { notify.check_supported("4.3.4", ->(_) { false }) }
    assert_match(/built with drafts.*4\.3/, error.message)
    assert_same notify, notify.check_supported("4.3.4", ->(feature) { feature == :draft })
    norm = OPTIONS.fetch(:norm_mode)
    assert_raises(Godwit::UnsupportedError) do
      norm.check_supported("4.3.5", ->(feature) { feature == :draft })
    end
    assert_same norm, norm.check_supported("4.3.5", ->(_) { true })
    error =
      assert_raises(Godwit::UnsupportedError) do
        OPTIONS.fetch(:curve_server).check_supported("4.3.4", ->(_) { false })
      end
    assert_includes error.message, "built with curve"
  end

  def test_raw_values_are_those_of_the_backend
    raw = {
      linger: [nil, -1], recv_timeout: [1.5, 1500], ipv6: [true, 1], tcp_keepalive: [nil, -1],
      send_hwm: [5, 5], reconnect_interval_max: [nil, 0], socks_proxy: [nil, nil],
      ipc_filter_uid: [1000, [1000].pack("L")],
      reconnect_stop: [%i[connection_refused handshake_failed], 3],
      curve_public_key: ["k" * 32, "k" * 32]
    }
    raw.each do |name, (value, expected)|
      encoded = OPTIONS.fetch(name).encode(value)
      expected.nil? ? assert_nil(encoded, name) : assert_equal(expected, encoded, name)
      assert_equal Encoding::BINARY, encoded.encoding if encoded.is_a?(String)
    end
  end

  def test_numbers_that_libzmq_may_add_later_still_decode
    assert_equal 99, OPTIONS.fetch(:mechanism).decode(99)
    assert_equal %i[readable], OPTIONS.fetch(:events).decode(1 | 64)
  end

  def test_an_option_describes_itself
    assert_same OPTIONS::SOCKET[:linger], OPTIONS.socket("linger")
    assert_same OPTIONS::CONTEXT[:io_threads], OPTIONS.context(:io_threads)
    {OPTIONS::SOCKET => :socket, OPTIONS::CONTEXT => :context}.each do |table, scope|
      table.each_value do |option|
        assert_equal scope, option.scope
        refute_empty option.doc
        assert_equal "#<Godwit::Options::Option #{scope} #{option.name} ZMQ_#{option.const}>",
          option.inspect
        assert_equal option.inspect, option.to_s
      end
    end
    assert_equal [true, false], %i[priority linger].map { |name| OPTIONS.fetch(name).draft? }
    assert_equal [true, false], %i[linger ipv6].map { |name| OPTIONS.fetch(name).live? }
  end

  test "the tables are shareable between Ractors" do
    not_on :jruby, "JRuby has no Ractors"
    assert Ractor.shareable?(OPTIONS::SOCKET)
    assert Ractor.shareable?(OPTIONS::CONTEXT)
    assert Ractor.shareable?(Godwit::Errors::TABLE)
  end

  def test_every_option_has_its_accessors_and_no_more
    {OPTIONS::SOCKET => OPTIONS::SocketAccessors,
     OPTIONS::CONTEXT => OPTIONS::ContextAccessors}.each do |table, accessors|
      expected = table.each_value.reject(&:by_hand?).flat_map do |option|
        names = []
        names << option.name if option.readable?
        names << :"#{option.name}?" if option.readable? && option.type == :bool
        names << :"#{option.name}=" if option.writable?
        names
      end
      assert_equal expected.sort, accessors.instance_methods(false).sort
    end
  end
end
