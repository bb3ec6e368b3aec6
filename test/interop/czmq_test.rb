# frozen_string_literal: true

require_relative "interop_case"
require_relative "czmq_peer"

# CZMQ's encoding of messages. Its authenticator and its certificates: auth_test.rb.
class InteropCzmqTest < InteropCase
  BINARY = (0..255).to_a.pack("C*").freeze
  SHAPES =
    [
      [""], ["", ""], ["a", "", "b"], ["", "a", ""], [BINARY], [BINARY, "", BINARY.reverse], ["\0"],
      ["grün"], ["x" * 254], ["x" * 255], ["x" * 256], ["x" * 8192, "y" * 8193],
      Array.new(100) { |number| number.to_s * number }
    ].map { |frames| frames.map(&:b).freeze }.freeze

  class << self
    def other = :czmq

    def missing = Godwit::TestSupport::CzmqPeer.missing
  end

  def czmq
    @czmq ||= begin
      child =
        start_command(
          [Godwit::TestSupport::CzmqPeer.program], deadline: Godwit::TestSupport::Peer::DEADLINE
        )
      Godwit::TestSupport::CzmqPeer.new(child).tap { |peer| (@peers ||= []) << peer }
    end
  end

  test "encode and zmsg_encode write the same bytes, and read each other's" do
    [[], *SHAPES, ["x" * 70_000, "", "y"]].each do |frames|
      ours = Godwit::Message.new(*frames).encode
      assert_equal frames, Godwit::Message.decode(ours).to_a
      next if frames.empty? # the peer has no word for no frame
      assert_equal czmq.encode(*frames), ours
      assert_equal frames, czmq.decode(ours)
    end
  end

  test "both refuse an encoding that is cut short" do
    ["\x05abc", "\xff\0\0", "\x01a\xff\0\0\1\0abc"].each do |data|
      assert_raises(Godwit::MessageError) { Godwit::Message.decode(data.b) }
      assert_nil czmq.decode(data.b)
    end
  end

  test "an encoded message that CZMQ sent in one frame is decoded from the frame" do
    pull = open_socket(:PULL)
    push = czmq.socket(:PUSH)
    join(pull, push)
    push.send czmq.encode("head", BINARY, "")
    assert_equal ["head", BINARY, ""], Godwit::Message.decode(pull.recv_frame).to_a
  end
end
