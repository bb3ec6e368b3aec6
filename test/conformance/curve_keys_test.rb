# frozen_string_literal: true

# libzmq: test_base85, test_sodium

require "test_helper"
require_relative "assertions"

class CurveKeysTest < Godwit::TestCase
  include Conformance::Assertions

  # From RFC 26's reference implementation (zmq_curve(7)): a public key and its secret key.
  PUBLIC = "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
  SECRET = "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"

  def setup
    super
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
  end

  test "a Keypair of keys from elsewhere, Z85 or raw" do
    [SECRET, Godwit::Z85.decode(SECRET)].each do |secret|
      [nil, PUBLIC, Godwit::Z85.decode(PUBLIC)].each do |public_key|
        keys = Godwit::Curve::Keypair.new(public_key: public_key, secret_key: secret)
        assert_equal [PUBLIC, SECRET], [keys.public_key, keys.secret_key]
        assert_equal [PUBLIC, SECRET],
          [keys.raw_public_key, keys.raw_secret_key].map { |raw|
            Godwit::Z85.encode(raw)
          }
        assert_equal [32, Encoding::BINARY],
          [keys.raw_secret_key.bytesize, keys.raw_secret_key.encoding]
      end
    end
  end

  test "malformed keys are refused with the right format, and are never shown" do
    ["", "Swordfish", SECRET[0..38], SECRET + "x", SECRET.tr("J", "\""), SECRET.tr("J", "ä"),
      "#" * 40, nil, 5, :key, [SECRET]].each do |key|
      calls = [
        -> { Godwit::Curve.public_key(key) }, -> { Godwit::Curve::Keypair.new(secret_key: key) }
      ]
      calls << -> { Godwit::Curve::Keypair.new(public_key: key, secret_key: SECRET) } if key
      calls.each do |call|
        error = assert_named(Godwit::CurveKeyError, /40 characters of Z85 or of 32 bytes/, &call)
        assert_kind_of ArgumentError, error
        refute_match(/Swordfish|TKVSB/, error.message)
      end
    end
  end
end

class Z85Test < Godwit::TestCase
  test "there and back, with the ends of the range" do
    ["", "\0" * 4, "\xff".b * 4, "\xff\0\0\0".b, Random.new(4).bytes(400),
      "grüß"[0, 2].b * 4].each do |bytes|
      text = Godwit::Z85.encode(bytes)
      assert_equal bytes.bytesize / 4 * 5, text.length
      assert_equal Encoding::US_ASCII, text.encoding
      assert_equal bytes.b, Godwit::Z85.decode(text)
      assert_equal Encoding::BINARY, Godwit::Z85.decode(text).encoding
    end
  end
end
