# frozen_string_literal: true

# The shapes of messages. A zmq_msg_t itself stores up to 33 bytes, and separate memory stores more.

Plain.each_transport "every shape of a message arrives unchanged" do |transport|
  pull, push = connected_pair(:PULL, :PUSH, transport: transport)
  every_byte = (0..255).to_a.pack("C*")
  large = "0123456\0" * (1 << 17)
  [
    "", "x", "\0", "a\0b", "a" * 33, "b" * 34, every_byte, "8 KiB " * 1400,
    ["l" * 255, "l" * 256], %w[a b], ["", ""], ["", "a"], ["a", ""], ["\0", "\0"],
    ["a" * 33, "b" * 34, "", "c" * 33], Array.new(1000) { |i| "x" * (i % 70) },
    [every_byte, "\0", every_byte.reverse], large, ["first", large, "", "tail"], "small"
  ].each_with_index do |message, i|
    push << message
    assert_equal message, pull.recv(timeout: 5), "shape #{i}"
  end
end

Plain.each_transport "an Array of one String equals the String" do |transport|
  pull, push = connected_pair(:PULL, :PUSH, transport: transport)
  push << ["alone"] << [""]
  assert_equal ["alone", ""], take(pull, 2)
end

Plain.scenario "a received message belongs to the receiver, a sent one to the sender" do
  pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
  sent = "longer than what libzmq keeps inline " * 2
  copy = sent.dup
  push << sent << [sent, sent]
  sent.replace("changed")
  string, (first, second) = take(pull, 2)
  first << "!"
  assert_equal [copy, "#{copy}!", copy, "changed"], [string, first, second, sent]
end

Plain.each_transport "recv_multipart gives an Array in any case" do |transport|
  pull, push = connected_pair(:PULL, :PUSH, transport: transport)
  push << "one" << %w[a b] << ""
  assert_equal [["one"], %w[a b], [""]], Array.new(3) { pull.recv_multipart(timeout: 5) }
end

Plain.each_transport "recv_string gives a String, or raises with the frames" do |transport|
  pull, push = connected_pair(:PULL, :PUSH, transport: transport)
  push << "one" << ["two", "", "frames"] << "three"
  assert_equal "one", pull.recv_string(timeout: 5)
  error = refused(
    Godwit::MultipartError,
    "recv_string: the message has 3 frames (use recv, or take them from this error's frames)"
  ) { pull.recv_string(timeout: 5) }
  assert_equal [["two", "", "frames"], :recv_string], [error.frames, error.operation]
  assert_equal "three", pull.recv_string(timeout: 5)
end

Plain.scenario "an object that is no message is named, and none of it is sent" do
  pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
  empty = '"" is the empty message'
  to_s = "to_s makes a String of it"
  json = "JSON.generate makes a String of it, and so does format: :json of the socket"
  {
    nil => "nil (#{empty})", 5 => "Integer (#{to_s})", :sym => "Symbol (#{to_s})",
    1.5 => "Float (#{to_s})", {"a" => "b"} => "Hash (#{json})",
    ["a", 5] => "an Array with Integer at 1 (#{to_s})",
    [nil] => "an Array with nil at 0 (#{empty})",
    ["a", ["b"]] => "an Array with Array at 1 (#{json})"
  }.each do |what, name|
    text = "a message is a String (one frame) or an Array of Strings (several), of Frames too: " \
      "got #{name}"
    assert_kind_of TypeError, refused(Godwit::MessageTypeError, "send: #{text}") { push << what }
    refused(Godwit::MessageTypeError, "send: #{text}") { push.send(what, timeout: 1) }
    refused(Godwit::MessageTypeError, "send: #{text}") { push.send_nonblock(what) }
    refused(Godwit::MessageTypeError, "send_many: #{text}") { push.send_many(["a", what]) }
  end
  assert_flows(push, pull)
end

Plain.scenario "a message has at least one frame" do
  pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
  text = "a message has at least one frame: give a String, or an Array of Strings that is not empty"
  push << "before"
  assert_kind_of ArgumentError, refused(Godwit::MessageError, "send: #{text}") { push << [] }
  refused(Godwit::MessageError, "send: #{text}") { push.send([], timeout: 1) }
  refused(Godwit::MessageError, "send: #{text}") { push.send_nonblock([]) }
  refused(Godwit::MessageError, "send_many: #{text}") { push.send_many(["a", []]) }
  assert_equal "before", pull.recv(timeout: 5)
  assert_flows(push, pull)
end

Plain.scenario "a socket with conflate: true refuses a message of several frames" do
  text = "with conflate: true libzmq keeps one frame of a message: got 2 (join them, or leave " \
    "conflate: out)"
  pull = open_socket(:PULL, conflate: true).bind(endpoint_for(:inproc))
  given = open_socket(:PUSH, conflate: true)
  assigned = open_socket(:DEALER)
  assigned.conflate = true
  [given, assigned].each do |socket|
    socket.connect(pull.last_endpoint) if socket == given
    refused(Godwit::MessageError, "send: #{text}") { socket << %w[topic value] }
    refused(Godwit::MessageError, "send: #{text}") { socket.send(%w[topic value], timeout: 5) }
    refused(Godwit::MessageError, "send_many: #{text}") { socket.send_many([%w[topic value]]) }
  end
  given << ["one"]
  assert_equal "one", pull.recv(timeout: 5)
end
