# frozen_string_literal: true

# libzmq: test_diffserv, test_setsockopt

require_relative "../test_helper"

# Each option of api/options.yml has a test: its default, values that a socket accepts and returns,
# and values that a socket refuses. Other tests use Option objects without a socket.
class OptionsTest < Godwit::TestCase
  OPTIONS = Godwit::Options
  STABLE = %i[PAIR PUB SUB REQ REP DEALER ROUTER PULL PUSH XPUB XSUB STREAM].freeze
  # When nil turns PLAIN off, libzmq retains the name and the password.
  STICKY = %i[plain_username plain_password].freeze
  NO_DEFAULT = %i[type zmq_fd events].freeze
  LARGEST = {int: 2**31 - 1, int64: 2**63 - 1, uint64: 2**64 - 1}.freeze
  SAMPLES = {
    tcp_accept_filter: %w[127.0.0.1 10.0.0.0/8], metadata: %w[X-name:value X-a:ä:b],
    thread_affinity_remove: [], max_sockets: [1, 2, 1023], thread_affinity_add: [0]
  }.freeze

  # Values that the option accepts, and that `get` returns.
  def self.samples(option)
    given = SAMPLES[option.name]
    return given if given
    values =
      case option.type
      when :bool then [true, false, true]
      when :int, :int64, :uint64
        [option.min || 0, (option.min || 0) + 1, 100, option.max || LARGEST[option.type]]
      when :duration
        if option.unit == "s"
          [0, 7, 7200]
        else
          [0.1, 1, 2.5, Rational(1, 2), (option.max || 2**31 - 1) / 1000.0]
        end
      when :enum then option.values.keys
      when :flags then [option.values.keys, [option.values.keys.first], []]
      when :text then ["a" * option.min, "näme", "x" * [option.max, 255].min]
      when :bytes
        ["a" * [option.min, 1].max, "\x01\x00\xff".b, "x" * [option.max, 255].min]
      when :key then ["rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7", "k" * 32]
      when :id32 then [0, 1000, 2**32 - 1]
      when :prefix then [0, 7]
      end
    (option.none && !option.none_reads && !STICKY.include?(option.name)) ? values + [nil] : values
  end

  # Values that the option refuses: of a wrong class or out of range.
  def self.illegal(option)
    values =
      case option.type
      when :bool then [0, 1, "true", :yes]
      when :int, :int64, :uint64
        [(option.min || 0) - 1, (option.max || LARGEST[option.type]) + 1, 1.5, "1", true]
      when :duration
        [
          -0.001, -1, Float::NAN, Float::INFINITY, -Float::INFINITY, 1e12, "5", Complex(1, 1),
          :forever, true
        ]
      when :enum then [:nothing_such, 1, Object.new]
      when :flags then [:nothing_such, [:nothing_such], 1, {}]
      when :text then ["x" * (option.max + 1), "a\0b", 7, :name, ["a"], ""]
      when :bytes
        ["x" * (option.max + 1), 7, :name, ["a"]] + ((option.min > 0) ? [""] : []) +
        (option.format ? ["\0abc"] : [])
      when :id32 then [-1, 2**32, "root", 1.0]
      when :prefix then [-1, 2**31, "", "x" * 17, 1.5, :a]
      when :key then [7, :key, ["k" * 32]]
      end
    (option.none && !option.none_reads) ? values : values + [nil]
  end

  def self.malformed_keys
    ["", "k" * 31, "k" * 33, "k" * 39, "k" * 41, "\"" * 40, "#" * 40, "ä" * 20]
  end

  # A socket type that has the option.
  def self.type_for(option) = option.types ? (option.types & STABLE).first : :DEALER

  # The value that `get` returns after `set` of the sample.
  def came_back(option, value)
    return Godwit::Z85.encode(value) if option.type == :key && value.bytesize == 32
    return nil if option.none == 0 && value == 0
    value
  end

  def set_and_read(owner, option, value)
    owner.set(option.name, value)
    return unless option.readable?
    expected = came_back(option, value)
    if expected.nil?
      assert_nil owner.get(option.name), "#{option.name} after #{value.inspect}"
    else
      assert_equal expected, owner.get(option.name), "#{option.name} after #{value.inspect}"
    end
    return if option.by_hand?
    owner.public_send(:"#{option.name}=", value)
    assert_equal owner.get(option.name).inspect, owner.public_send(option.name).inspect
    if option.type == :bool
      assert_equal owner.get(option.name).inspect, owner.public_send(:"#{option.name}?").inspect
    end
  end

  def assert_refuses(owner, option, value, error = Godwit::OptionError)
    before = owner.get(option.name) if option.readable?
    raised =
      assert_raises(error, "#{option.name} took #{value.inspect}") { owner.set(option.name, value) }
    assert_kind_of Godwit::Error, raised
    assert_kind_of ArgumentError, raised
    assert_includes raised.message, option.name.to_s
    assert_includes raised.message, option.allowed unless option.type == :prefix
    assert_equal before.inspect, owner.get(option.name).inspect if option.readable?
  end

  def check_option(owner, option)
    if option.writable?
      self.class.samples(option).each { |value| set_and_read(owner, option, value) }
      self.class.illegal(option).each { |value| assert_refuses(owner, option, value) }
      if option.type == :key
        self.class.malformed_keys.each do |key|
          assert_refuses(owner, option, key, Godwit::CurveKeyError)
        end
      end
    else
      raised = assert_raises(Godwit::OptionError) { owner.set(option.name, 1) }
      assert_match(/#{option.name}.*can only be read/, raised.message)
      refute_respond_to owner, :"#{option.name}="
    end
    return if option.readable?
    raised = assert_raises(Godwit::OptionError) { owner.get(option.name) }
    assert_match(/#{option.name}.*can only be set/, raised.message)
    refute_respond_to owner, option.name unless option.by_hand?
  end

  def check_other_types(option)
    (STABLE - option.types).each do |type|
      error = assert_raises(Godwit::OptionError) do
        open_socket(type).set(option.name, self.class.samples(option).first)
      end
      assert_includes error.message, option.types.join(", ")
      assert_includes error.message, type.to_s
    end
  end

  def check_unsupported(owner, option)
    calls = []
    calls << -> { owner.get(option.name) } if option.readable?
    calls << -> { owner.set(option.name, self.class.samples(option).first) } if option.writable?
    calls.each do |call|
      error = assert_raises(Godwit::UnsupportedError, &call)
      assert_includes error.message, option.name.to_s
      assert_match(/#{Regexp.escape(option.since)}|built with #{option.needs}/, error.message)
    end
  end

  OPTIONS::SOCKET.each_value do |option|
    next if option.by_hand? && option.writable? # such as subscribe: other tests call its method

    define_method(:"test_socket_option_#{option.name}") do
      not_on :ffi, "it has no use_fd" if option.name == :use_fd
      type = self.class.type_for(option)
      next check_unsupported(open_socket(type || :DEALER), option) unless option.supported?
      skip "#{option.name} is for #{option.types.join(", ")}, which this libzmq lacks" unless type
      check_option(open_socket(type), option)
      check_other_types(option) if option.writable? && option.types
    end
  end

  OPTIONS::CONTEXT.each_value do |option|
    define_method(:"test_context_option_#{option.name}") do
      Godwit::Context.new do |context|
        next check_unsupported(context, option) unless option.supported?
        check_option(context, option)
      end
    end
  end

  STABLE.each do |type|
    define_method(:"test_defaults_of_#{type}") do
      socket = open_socket(type)
      OPTIONS::SOCKET.each_value do |option|
        next unless option.readable? && option.supported? && !NO_DEFAULT.include?(option.name)
        next unless option.writable? || option.for_type?(type)
        default = option.default_of.fetch(type) { option.godwit || option.default }
        assert_equal default.inspect,
          normal(socket.get(option.name), default).inspect,
          "#{option.name} of a fresh #{type}"
      end
    end
  end

  # The table of options has the Integer 30 where `get` returns the Float 30.0.
  def normal(value, like) = (like.is_a?(Integer) && value == like) ? like : value

  def test_defaults_of_a_context
    Godwit::Context.new do |context|
      OPTIONS::CONTEXT.each_value do |option|
        next unless option.readable? && option.supported?
        assert_equal option.default.inspect, context.get(option.name).inspect, option.name.to_s
      end
    end
  end

  def test_what_an_option_needs_of_libzmq
    refuse = lambda do |name, version, says, &has|
      option = OPTIONS.fetch(name)
      error = assert_raises(Godwit::UnsupportedError) { option.check_supported(version, has) }
      assert_match says, error.message
    end
    refuse.call(:topics_count, "4.3.4", /needs libzmq 4\.3\.5 or newer; this is 4\.3\.4/) { true }
    refuse.call(:router_notify, "4.3.4", /built with drafts.*4\.3/) { false }
    refuse.call(:norm_mode, "4.3.5", /norm/) { |feature| feature == :draft }
    refuse.call(:curve_server, "4.3.4", /built with curve/) { false }
    [[:topics_count, "4.3.5", []], [:topics_count, "4.4.0", []],
      [:router_notify, "4.3.4", [:draft]], [:norm_mode, "4.3.5", %i[draft norm]]]
      .each do |name, version, features|
      option = OPTIONS.fetch(name)
      assert_same option, option.check_supported(version, features.method(:include?))
    end
  end

  def test_numbers_that_libzmq_may_add_later_still_decode
    assert_equal 99, OPTIONS.fetch(:mechanism).decode(99)
    assert_equal %i[readable], OPTIONS.fetch(:events).decode(1 | 64)
  end

  def test_an_id_is_four_bytes_in_the_order_of_the_machine
    assert_equal [1000].pack("L"), OPTIONS.fetch(:ipc_filter_uid).encode(1000)
  end

  def test_an_option_describes_itself
    assert_equal "#<Godwit::Options::Option context io_threads ZMQ_IO_THREADS>",
      OPTIONS.context(:io_threads).to_s
    assert_equal [true, false], %i[priority linger].map { |name| OPTIONS.fetch(name).draft? }
    assert_equal [true, false], %i[linger ipv6].map { |name| OPTIONS.fetch(name).live? }
  end
end
