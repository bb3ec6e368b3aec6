# frozen_string_literal: true

# Options of each kind, and the values that they refuse.

Plain.scenario "options of each kind come back as they went in" do
  socket = open_socket(:DEALER)
  {
    ipv6: [true, false], immediate: [true, false], tcp_keepalive: [true, false, nil],
    send_hwm: [0, 1, 2_147_483_647], backlog: [5], linger: [0.1, 1, 2.5, nil, 0],
    recv_timeout: [0.001, 7, nil], heartbeat_interval: [0.5], tcp_keepalive_idle: [7, nil],
    max_message_size: [0, 5_000_000_000, 1 << 60, nil],
    affinity: [0, 3, 1 << 50, 1 << 61],
    routing_id: ["a", "\x01\x00\xff".b, "x" * 255],
    zap_domain: ["name"], plain_username: ["user"]
  }.each do |name, values|
    values.each do |value|
      read = [socket.set(name, value), socket.get(name), socket.__send__(name)]
      socket.__send__("#{name}=", value)
      assert_equal [value] * 4, [*read, socket.get(name)], name.to_s
    end
  end
  assert_equal [false, :plain], [socket.ipv6?, socket.mechanism]
end

Plain.scenario "options as keywords, and a context's for its sockets" do
  socket = open_socket(:DEALER, send_hwm: 7, linger: 0, routing_id: "me", ipv6: true)
  assert_equal [7, 0.0, "me", true],
    [socket.send_hwm, socket.linger, socket.routing_id, socket.ipv6?]
  one = own(Godwit::Context.new(io_threads: 2, max_sockets: 9, ipv6: true, linger: 0.5,
    socket_options: {recv_hwm: 11}))
  assert_equal [2, 9, true, 0.5, {recv_hwm: 11}],
    [one.io_threads, one.max_sockets, one.ipv6?, one.linger, one.socket_options]
  pull = own(one.socket(:PULL, send_hwm: 3))
  assert_equal [11, 3, 0.5], [pull.recv_hwm, pull.send_hwm, pull.linger]
  assert_equal 5, own(Godwit::Context.new).linger
  one.linger = nil
  assert_equal [nil, 0, 0.5],
    [own(one.socket(:PULL)).linger, own(one.socket(:PULL, linger: 0)).linger, pull.linger]
  one.set(:max_sockets, 11)
  assert_equal 11, one.get(:max_sockets)
end

Plain.scenario "values that are not allowed: the message has the allowed ones" do
  socket = open_socket(:DEALER)
  {
    [:send_hwm, -1] => "option send_hwm (ZMQ_SNDHWM) takes an Integer from 0 to 2147483647 " \
      "(messages), not -1 (Integer)",
    [:send_hwm, nil] => "option send_hwm (ZMQ_SNDHWM) takes an Integer from 0 to 2147483647 " \
      "(messages), not nil",
    [:linger, "5"] => "option linger (ZMQ_LINGER) takes seconds from 0 to 2147483.647, or nil " \
      "(forever), not \"5\" (String)",
    [:immediate, 1] => "option immediate (ZMQ_IMMEDIATE) takes true or false, not 1 (Integer)",
    [:affinity, -1] => "option affinity (ZMQ_AFFINITY) takes an Integer from 0 to " \
      "18446744073709551615 (bit mask), not -1 (Integer)",
    [:max_message_size, -1] => "option max_message_size (ZMQ_MAXMSGSIZE) takes an Integer from 0 " \
      "to 9223372036854775807 (bytes), or nil (no limit), not -1 (Integer)",
    [:routing_id, ""] => "option routing_id (ZMQ_ROUTING_ID) takes a String of 1 to 255 bytes, " \
      "first byte not zero, not \"\" (String)",
    [:heartbeat_ttl, 9999] => "option heartbeat_ttl (ZMQ_HEARTBEAT_TTL) takes seconds from 0 to " \
      "6553.5, in steps of 0.1, or nil (the peer decides), not 9999 (Integer)",
    [:type, 1] => "option type (ZMQ_TYPE) can only be read",
    [:mandatory, true] => "option mandatory (ZMQ_ROUTER_MANDATORY) is for ROUTER sockets, not " \
      "for DEALER",
    [:qqqqqqqq, 1] => "unknown socket option :qqqqqqqq (docs/options.md lists them, and so does " \
      "Godwit::Options::SOCKET.keys)"
  }.each do |(name, value), message|
    error = refused(Godwit::OptionError, message) { socket.set(name, value) }
    assert_kind_of ArgumentError, error
    assert_equal :option, error.operation
    refused(Godwit::OptionError, message) { open_socket(:DEALER, name => value) }
  end
  refused(Godwit::OptionError, "option mandatory (ZMQ_ROUTER_MANDATORY) can only be set") do
    open_socket(:ROUTER).get(:mandatory)
  end
  refused(Godwit::OptionError, "option io_threads (ZMQ_IO_THREADS) takes an Integer from 0 to " \
    "256 (threads), not 257 (Integer)") { Godwit::Context.new(io_threads: 257) }
end

Plain.scenario "durations are rounded to libzmq's resolution, but never to zero" do
  socket = open_socket(:DEALER)
  {
    0.0001 => 0.001, 0.07 => 0.07, 1.0004 => 1.0, 1.001 => 1.001, 0 => 0.0, 0.0015 => 0.002,
    0.00149999 => 0.001, 1.0005 => 1.001, 1_000_000.0025 => 1_000_000.003,
    2_147_483.647 => 2_147_483.647
  }.each do |given, read|
    socket.linger = given
    assert_equal read, socket.linger
  end
  {0.25 => 3, 0.01 => 1, 6553.5 => 65_535}.each do |given, tenths|
    socket.heartbeat_ttl = given
    assert_equal tenths, (socket.heartbeat_ttl * 10).round
  end
end

Plain.scenario "secrets show in no message and no inspect" do
  socket = open_socket(:DEALER, plain: ["user", "Swordfish"])
  refute_includes socket.inspect, "Swordfish"
  refused(Godwit::OptionError, "option plain_password (ZMQ_PLAIN_PASSWORD) takes a String of 1 " \
    "to 255 bytes without NUL, or nil (no security), not a String of 10 bytes") do
    socket.plain_password = "Swordfish\0"
  end
  refused(Godwit::OptionError, "option plain_password (ZMQ_PLAIN_PASSWORD) takes a String of 1 " \
    "to 255 bytes without NUL, or nil (no security), not Array") do
    socket.plain_password = ["Swordfish"]
  end
end

Plain.scenario "the library's facts" do
  assert_equal 3, Godwit.libzmq_version.split(".").size
  assert_equal [true, false, false], [Godwit.has?(:ipc), Godwit.has?("pigeon"), Godwit.has?("a\0")]
  assert_kind_of Symbol, Godwit::BACKEND
  error = Godwit::TimeoutError.new("recv: late", operation: :recv, endpoint: "inproc://x")
  assert_equal({message: "recv: late", operation: :recv, endpoint: "inproc://x",
                errno: Errno::ETIMEDOUT::Errno, sent: nil, retriable: true},
    error.deconstruct_keys(nil))
end

Plain.scenario "the system's own errors stay what they are" do
  error = assert_raises(SystemCallError) { File.open("/no/such/file") }
  assert_instance_of Errno::ENOENT, error
  assert_equal Errno::ENOENT::Errno, error.errno
  assert error.message.start_with?("No such file or directory")
  assert_includes error.message, "/no/such/file"
end
