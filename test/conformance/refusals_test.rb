# frozen_string_literal: true

require "test_helper"

# Warnings of a server about clients that it refuses in the handshake.
class RefusalsTest < Godwit::TestCase
  # Replaces $stderr: a queue of the lines of each text that contains "godwit".
  class Lines < Queue
    def write(*texts)
      texts.each { |text| text.each_line { |line| self << line.chomp } if text.match?(/godwit/) }
    end
  end

  # @yieldparam lines [Lines] the lines written to $stderr during the block
  def with_lines
    before, $stderr = $stderr, Lines.new
    yield $stderr
  ensure
    $stderr = before
  end

  def serving(**options)
    server = open_socket(:PULL, **options).bind("tcp://127.0.0.1:*")
    in_thread { server.each { |message| message } }
    eventually { Thread.list.any? { |thread| thread.name == "godwit refusals" } }
    server
  end

  def knock(server, **options)
    client = open_socket(:PUSH, linger: 0, **options)
    failures = client.monitor(:handshake_failed_no_detail, :handshake_failed_protocol)
    client.connect(server.last_endpoint)
    failures.next_event(timeout: 20)
    client.close
  end

  test "a server warns once per address and minute" do
    keys, wrong = Array.new(2) { Godwit::Curve.keypair }
    with_lines do |lines|
      with_clock do |clock|
        server = serving(curve: keys)
        text = "the handshake at #{server.last_endpoint} failed, since the keys do not match: " \
          "the client's server_key: has to be the server's public key"
        text = /\Agodwit: PULL refused a client( at 127\.0\.0\.1)?: #{Regexp.escape(text)}\z/
        3.times { knock(server, curve: wrong, server_key: wrong.public_key) }
        assert_match text, lines.pop
        # If the kernel no longer knows a client's address, the server may print one line more.
        assert_operator lines.size, :<=, 1
        # The first warnings may still be about clients with wrong keys.
        text = /\Agodwit: PULL refused a client.*this side uses CURVE, and a client does not/
        eventually do
          clock.advance(61)
          knock(server)
          text.match?(lines.pop)
        end
        Godwit.warn_refused = false
        lines.clear
        clock.advance(61)
        knock(server)
        server.close
        eventually { Thread.list.none? { |thread| thread.name == "godwit refusals" } }
        assert_empty lines
      end
    end
  ensure
    Godwit.warn_refused = true
  end

  test "without security a server that waits has no thread for warnings" do
    pull = open_socket(:PULL).bind("tcp://127.0.0.1:*")
    push = open_socket(:PUSH)
    events = push.monitor
    push.connect(pull.last_endpoint)
    reader = waiting_on(pull) { pull.recv }
    nil until events.next_event(timeout: 5).name == :handshake_succeeded
    assert_raises(Godwit::TimeoutError) { events.next_event(timeout: 0.3) } # while `reader` waits
    assert(Thread.list.none? { |thread| thread.name == "godwit refusals" })
    push << "x"
    ended(reader)
  end
end
