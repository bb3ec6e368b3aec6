# frozen_string_literal: true

# libzmq: test_app_meta
# libzmq: test_msg_flags, test_msg_init

require_relative "case"

class FrameTest < Conformance::Case
  BYTES = (0..255).to_a.pack("C*").freeze

  # Two frames of the same bytes: one made by Frame.new, one received.
  def frames_of(bytes)
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
    push.send(bytes)
    {made: Godwit::Frame.new(bytes), received: pull.recv_frame(timeout: 5)}
  end

  test "it has the bytes of a message" do
    [0, 1, 33, 34, 100_000].each do |size|
      bytes = (BYTES * (size / 256 + 1)).byteslice(0, size)
      frames_of(bytes).each do |how, frame|
        assert_equal [size, size, size], [frame.size, frame.bytesize, frame.length], how
        assert_equal size.zero?, frame.empty?
        assert_equal bytes, frame.to_s
        refute_same frame.to_s, frame.to_s
        assert_equal bytes.bytes, frame.each_byte.to_a
        assert_equal size, frame.each_byte.size
        refute_predicate frame, :more?
        refute_predicate frame, :gone?
      end
    end
  end

  test "byteslice takes the arguments of String#byteslice" do
    frames_of(BYTES).each_value do |frame|
      [0, 1, 255, 256, 300, -1, -256, -257].each do |start|
        assert_same_slice frame, start
        assert_equal [BYTES.getbyte(start)], [frame.getbyte(start)]
        [0, 1, 10, 256, 1000, -1].each { |length| assert_same_slice frame, start, length }
        [0, 5, 255, 256, -1, -300].each do |last|
          assert_same_slice frame, start..last
          assert_same_slice frame, start...last
        end
        assert_same_slice frame, (start..)
        assert_same_slice frame, (start...)
        assert_same_slice frame, (..start)
      end
    end
    assert_nil Godwit::Frame.new("").byteslice(0)
    assert_equal "", Godwit::Frame.new("").byteslice(0, 1)
  end

  # Closing a frame of this size frees its memory, unless a slice retains that memory.
  test "a slice outlives its frame" do
    assert_equal "z" * (1 << 20), assert_child(run_child(<<~RUBY)).stdout
      require "godwit"
      frame = Godwit::Frame.new("z" * (2 << 20))
      slice = frame.byteslice(1 << 20, 1 << 20)
      frame.close
      print slice
    RUBY
  end

  def assert_same_slice(frame, *arguments)
    assert_equal [BYTES.byteslice(*arguments)], [frame.byteslice(*arguments)], arguments.inspect
  end

  test "unpack and unpack1, at an offset too" do
    data = [1, 2, 3.5, "name"].pack("NnGZ*")
    frames_of(data).each_value do |frame|
      assert_equal [1, 2, 3.5, "name"], frame.unpack("NnGZ*")
      assert_equal 2, frame.unpack1("n", offset: 4)
      assert_equal [3.5, "name"], frame.unpack("GZ*", offset: 6)
      assert_equal data, frame.unpack1("a*")
      assert_raises(ArgumentError) { frame.unpack1("N", offset: 1000) }
    end
  end

  test "equality and order follow the bytes" do
    one, same, other =
      frames_of("abc")[:received],
      Godwit::Frame.new("abc"),
      Godwit::Frame.new("abd")
    assert_equal [true, true, false, false, false],
      [same, "abc", other, nil, :abc].map { |thing| one == thing }
    assert_equal [true, false], [one.eql?(same), one.eql?("abc")]
    refute_equal one.hash, other.hash
    assert_equal 1, {one => 1}[same]
    assert_equal [-1, 0, 1, -1, 1],
      [one <=> other, one <=> same, other <=> one, one <=> "abcd", one <=> "ab"]
    assert_equal [0, true], [Godwit::Frame.new("ä") <=> "ä", Godwit::Frame.new("ä") == "ä"]
    assert_nil one <=> 5
    assert_equal [one, other], [other, one].sort
    assert_operator one, :<, other
  end

  test "start_with?" do
    frame = Godwit::Frame.new("\xFFtopic.a".b)
    [["\xFFtopic".b], ["x", "\xFF".b], [""]].each { |prefixes| assert frame.start_with?(*prefixes) }
    [["topic"], [], ["\xFFtopic.a and more".b]].each do |prefixes|
      refute frame.start_with?(*prefixes)
    end
  end

  test "it keeps the encoding of the String it was made of, or of its socket" do
    assert_equal Encoding::UTF_8, Godwit::Frame.new("ä").to_s.encoding
    pull, push = connected_pair(:PULL, :PUSH, transport: :inproc, bind_options: {encoding: "UTF-8"})
    push.send("ä")
    assert_equal ["ä", Encoding::UTF_8],
      [(frame = pull.recv_frame(timeout: 5)).to_s, frame.encoding]
  end

  test "a String changed afterwards does not change it" do
    ["short", "l" * 100_000].each do |bytes|
      data = bytes.dup
      frame = Godwit::Frame.new(data)
      data << "more"
      data.setbyte(0, 0)
      assert_equal bytes, frame.to_s
    end
  end

  test "a second initialize is refused, and the frame keeps its bytes" do
    frames_of("a").each_value do |frame|
      assert_raises(RuntimeError) { frame.__send__(:initialize, "b") }
      assert_equal "a", frame.to_s
    end
  end

  test "once closed it is gone" do
    frames_of("abc").each_value do |frame|
      assert_nil frame.close
      assert_nil frame.close
      assert_predicate frame, :gone?
      {size: [], to_s: [], byteslice: [0, 1], getbyte: [0], unpack1: ["C"], more?: [], hash: [],
       "<=>": ["a"], property: ["x"], dup: [], start_with?: ["a"]}.each do |name, arguments|
        assert_named(Godwit::GoneError, /gone/) { frame.public_send(name, *arguments) }
      end
      assert_raises(Godwit::GoneError) { frame.each_byte { nil } }
      refute_equal frame, "abc"
      assert_equal frame, frame
      assert_match(/gone/, frame.inspect)
    end
  end

  test "a frame closed within its own each_byte raises" do
    frame = Godwit::Frame.new("abc")
    assert_raises(Godwit::GoneError) { frame.each_byte { frame.close } }
  end

  test "a frame cannot be closed while unpack yields" do
    not_on :ffi, "unpack reads a copy"
    frame = Godwit::Frame.new("abc")
    assert_raises(Godwit::BusyError) { frame.unpack("C*") { frame.close } }
    refute_predicate frame, :gone?
  end

  test "dup shares the bytes, and has its own lifetime" do
    frames_of("z" * 10_000).each_value do |frame|
      copies = [frame.dup, frame.clone, frame.dup.dup]
      frame.close
      copies.each do |copy|
        assert_equal "z" * 10_000, copy.to_s
        copy.close
        assert_predicate copy, :gone?
      end
    end
  end

  test "a frozen frame stays: it is not closed, and can be sent repeatedly" do
    frames_of("q" * 5000).each_value do |frame|
      frame.freeze
      assert_raises(FrozenError) { frame.close }
      pull, push = connected_pair(:PULL, :PUSH, transport: :inproc)
      3.times { push.send(frame) }
      3.times { assert_equal "q" * 5000, pull.recv(timeout: 5) }
      refute_predicate frame, :gone?
      assert_equal 5000, frame.size
    end
  end

  each_transport("properties of its peer", only: %i[tcp ipc]) do |transport|
    pull, push =
      connected_pair(:PULL, :PUSH, transport: transport, connect_options: {metadata: "X-Who:me"})
    push.send("a")
    frame = pull.recv_frame(timeout: 5)
    assert_equal "PUSH", frame.property("Socket-Type")
    assert_equal "PUSH", frame.property(:"Socket-Type")
    assert_equal "127.0.0.1", frame.property("Peer-Address") if transport == :tcp
    assert_nil frame.property("No-Such")
    assert_equal Encoding::UTF_8, frame.property("Socket-Type").encoding
    assert_nil Godwit::Frame.new("a").property("Socket-Type")
  end

  test "wrong arguments are refused by name" do
    type, value = Godwit::ArgumentTypeError, Godwit::ArgumentValueError
    assert_named(type, /the name takes a String/) { Godwit::Frame.new("").property(5) }
    assert_named(value, /NUL/) { Godwit::Frame.new("").property("a\0b") }
    [nil, 5, :a, ["a"], Godwit::Frame.new("a")].each do |wrong|
      assert_named(type, /a Frame takes a String/) { Godwit::Frame.new(wrong) }
    end
    [-1, 1.5, "1", 1 << 70].each do |wrong|
      assert_named(value, /copy_threshold.*nil to copy always/) do
        Godwit::Frame.new("a", copy_threshold: wrong)
      end
    end
  end

  test "inspect shows its size and its first bytes" do
    assert_equal '#<Godwit::Frame 3 bytes "abc">', Godwit::Frame.new("abc").inspect
    assert_equal '#<Godwit::Frame 100 bytes "xxxxxxxxxxxxxxxx"...>',
      Godwit::Frame.new("x" * 100).inspect
  end
end
