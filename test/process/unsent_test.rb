# frozen_string_literal: true

require "test_helper"
require "support/ports"

# The lines that a process with unsent messages prints at its end.
class UnsentTest < Godwit::TestCase
  HINT = "(linger: 0 skips the wait; Godwit.warn_unsent = false hides this line)"

  # @return [Array(Array<String>, Array<String>)] the sorted lines on standard error, and four ports
  def lines_of(source)
    ports = Array.new(4) { Godwit::TestSupport::Ports.free.to_s }
    result = run_child("require 'godwit'\n#{source}", ports)
    assert result.success?, result.to_s
    [result.stderr.lines(chomp: true).grep(/\Agodwit:/).sort, ports]
  end

  test "one line for each endpoint, with what is known of the number" do
    lines, ports = lines_of(<<~RUBY)
      pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
      received = Godwit::PUSH.connect(pull.last_endpoint, linger: 1) << "here"
      pull.recv(timeout: 20)
      one, two, closed, brief = ARGV.map { |port| "tcp://127.0.0.1:\#{port}" }
      Godwit::PUSH.connect(one, linger: 0.7) << "x"
      Godwit::DEALER.connect(two, linger: 0.5) << ["a", "b"] << "c"
      Godwit::REQ.connect(closed, linger: 0.5).send("x").close
      Godwit::PUSH.connect(brief, linger: 0) << "x"
      Godwit::PUSH.connect(brief, linger: 1)
    RUBY
    one, two, closed = ports.map { |port| "for tcp://127.0.0.1:#{port}" }
    assert_equal [
      "godwit: 1 message #{closed} was not sent within 0.5 s #{HINT}",
      "godwit: 1 message #{one} was not sent within 0.7 s #{HINT}",
      "godwit: up to 2 messages #{two} were not sent within 0.5 s #{HINT}"
    ].sort, lines
  end

  test "Godwit.warn_unsent = false hides the line" do
    lines, = lines_of(<<~RUBY)
      Godwit::PUSH.connect("tcp://127.0.0.1:\#{ARGV[0]}", linger: 0.3) << "x"
      Godwit.warn_unsent = false
    RUBY
    assert_empty lines
  end
end
