# frozen_string_literal: true

# libzmq: test_security_curve

require_relative "case"

class CurveSecurityTest < Conformance::Case
  def setup
    super
    @server = Godwit::Curve.keypair
    @client = Godwit::Curve.keypair
  end

  test "other classes hand a nil of security on as it is" do
    url = "tcp://127.0.0.1:*"
    [[Godwit::Logger, url], [Godwit::LogDevice, url], [Godwit::Logger::Reader, url],
      [Godwit::Logger::Broadcaster, url, url], [Godwit::Logger::Control, "tcp://127.0.0.1:9"],
      [Godwit::Perf::Server, url],
      [Godwit::Perf.method(:latency), "tcp://127.0.0.1:9"],
      [Godwit::Perf.method(:throughput), "tcp://127.0.0.1:9"]].each do |made, *arguments|
      message = (made.is_a?(Method) ? :call : :new)
      error = assert_raises(Godwit::ArgumentValueError, made.inspect) do
        made.public_send(message, *arguments, curve: @client, server_key: nil)
      end
      assert_match(/\Anew: server_key: is nil: /, error.message)
    end
    error = assert_raises(Godwit::ArgumentValueError) do
      Godwit::Context.new(socket_options: {plain_username: nil, plain_password: "secret"})
    end
    assert_match(/\Anew: plain_username: is nil: /, error.message)
    Godwit::Context.new do |context|
      auth = Godwit::Auth.new(context: context)
      error = assert_raises(Godwit::ArgumentValueError) { auth.curve(dir: scratch_dir, keys: nil) }
      assert_match(/\Acurve: keys: is nil: /, error.message)
      auth.close
    end
  end

  test "malformed keys are refused with the right format, and are never shown" do
    secret = @client.secret_key
    ["", "Swordfish", secret[0..38], secret + "x", secret.tr("^\"", "\""), "ä" * 20,
      "#" * 40, nil, 5, :key, [secret]].each do |key|
      calls = [
        -> { Godwit::Curve.public_key(key) }, -> { Godwit::Curve::Keypair.new(secret_key: key) }
      ]
      calls << -> { Godwit::Curve::Keypair.new(public_key: key, secret_key: secret) } if key
      calls.each do |call|
        error = assert_named(Godwit::CurveKeyError, /40 characters of Z85 or of 32 bytes/, &call)
        assert_kind_of ArgumentError, error
        refute_match(/Swordfish|#{Regexp.escape(secret[1, 9])}/, error.message)
      end
    end
  end
end
