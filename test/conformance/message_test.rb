# frozen_string_literal: true

require_relative "case"

class MessageTest < Conformance::Case
  under_gc_stress

  def build(*parts) = Godwit::Message.new(*parts)

  test "push, pop, unshift, shift keep the order" do
    one = build("b")
    assert_same one, one.push("c", Godwit::Frame.new("d"))
    assert_same one, one.unshift("z", "a")
    assert_same one, one << "e"
    assert_equal %w[z a b c d e], one.to_a
    assert_equal ["z", "e"], [one.shift.to_s, one.pop.to_s]
    assert_equal %w[a b c d], one.to_a
    assert_nil build.pop
    assert_nil build.shift
    assert_equal one, build.append("b", "c", "d").prepend("a")
  end

  test "first, last, [], each, size, content_size, empty?" do
    one = build("a", "bb", "")
    assert_equal ["a", "", "bb"], [one.first, one.last, one[1]].map(&:to_s)
    assert_equal [%w[a bb], ["bb", ""]],
      [one.first(2), one.last(2)].map { |frames| frames.map(&:to_s) }
    assert_equal [3, 3, 3, 3], [one.size, one.length, one.content_size, one.each.size]
    assert_equal %w[a bb], one.each.first(2).map(&:to_s)
    assert_same one, one.each { |frame| assert_instance_of Godwit::Frame, frame }
    assert_equal %w[A BB], one.map { |frame| frame.to_s.upcase }.first(2)
    assert_equal [true, false], [build.empty?, one.empty?]
    assert_equal [nil, nil, 0], [build.first, build.last, build.content_size]
  end

  test "wrap and unwrap an address" do
    one = build("body")
    assert_same one, one.wrap("client")
    assert_equal ["client", "", "body"], one.to_a
    assert_equal ["client", "body", ""], [one.unwrap, one.unwrap, one.unwrap].map(&:to_s)
    two = build("a", "b")
    assert_equal ["a", %w[b]], [two.unwrap.to_s, two.to_a]
  end

  test "a dup has its own frames" do
    one = build("a", "b" * 1000)
    two = one.dup
    assert_equal one, two
    two.push("c")
    one.close
    assert_predicate one, :gone?
    refute_predicate two, :gone?
    assert_equal ["a", "b" * 1000, "c"], two.to_a
  end

  test "the wire of CZMQ's zmsg_encode" do
    assert_equal "\x01a\x00".b, build("a", "").encode
    assert_equal ["\xFE".b + "x" * 254, "\xFF\x00\x00\x00\xFF".b + "x" * 255],
      [build("x" * 254).encode, build("x" * 255).encode]
    assert_equal "", build.encode
    assert_equal Encoding::BINARY, build("ä").encode.encoding
  end

  test "decode reverses encode" do
    [[], [""], ["a"], ["a", "", "b" * 254, "c" * 255, "d" * 70_000]].each do |parts|
      one = build(*parts)
      assert_equal one, Godwit::Message.decode(one.encode)
      assert_equal one, Godwit::Message.decode(Godwit::Frame.new(one.encode))
    end
  end

  test "decode refuses a truncated message and an object that is no String" do
    whole = build("a", "d" * 300).encode
    (1...whole.bytesize).each do |size|
      next if size == 2 # the first 2 bytes are a whole encoded frame
      assert_named(Godwit::MessageError, /not an encoded message/, operation: :decode) do
        Godwit::Message.decode(whole.byteslice(0, size))
      end
    end
    assert_named(Godwit::MessageError, /ends after the data/) do
      Godwit::Message.decode("\xFF\xFF\xFF\xFF\xFFab".b)
    end
    assert_named(Godwit::ArgumentTypeError, /the data takes a String or a Frame/) do
      Godwit::Message.decode(nil)
    end
  end

  test "it takes frames and Strings only" do
    [nil, 5, :a, ["a"]].each do |wrong|
      [-> { build("a", wrong) }, -> { build.push(wrong) }, -> { build.unshift(wrong) }]
        .each do |call|
        assert_named(Godwit::MessageTypeError, /a message has frames and Strings: got/, &call)
      end
    end
  end

  test "an empty message, and a message whose frames are gone, are not sent" do
    push = open_socket(:PUSH, linger: 0)
    assert_named(Godwit::MessageError, /at least one frame/) { push.send(build) }
    gone = build("a", "b").tap { |one| one[1].close }
    assert_predicate gone, :gone?
    assert_named(Godwit::GoneError, /gone/) { push.send(gone) }
    assert_match(/1 bytes "a", gone/, gone.inspect)
  end
end
