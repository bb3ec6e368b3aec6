# frozen_string_literal: true

# `godwit log serve` and `godwit log tail` as children, for tests with others' programs.
module Served
  COMMAND = [*Godwit::TestSupport::Children::GODWIT, "log"].freeze

  DEADLINE = 20 + 3 * Godwit::TestSupport::Children::START

  # @return [Array(Child, String, String)] it listens; where writers send to, where readers listen
  def serve(*options, deadline: DEADLINE)
    child =
      start_command(
        [
          "sh", "-c", 'exec "$@" 2>&1', "-", *COMMAND, "serve", "--in", "tcp://:*", "--out",
          "tcp://:*", *options.map(&:to_s)
        ],
        deadline: deadline
      )
    child.wait_for(/^godwit: in .*\n/)
    [child, *child.stdout.match(/^godwit: in (\S+?), out (\S+?),/).captures]
  end

  # Starts a reader that prints records, from the first on, up to a number.
  # @return [Child]
  def tail(output, control, *options, count:)
    start_command(
      [
        *COMMAND, "tail", output, "--control", control, "--last", "1000", "--count", count.to_s,
        "--timeout", "15", *options.map(&:to_s)
      ],
      deadline: DEADLINE
    )
  end

  def control_of(child) = child.stdout[/^godwit: in .*control (\S+?)(?:,|$)/, 1]
end
