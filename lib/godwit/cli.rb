# frozen_string_literal: true

require_relative "printable"
require_relative "version"
require_relative "cli/program"
require_relative "cli/family"

module Godwit
  # The command `godwit`.
  #
  # **Threads**: one thread runs a command, which uses the standard streams and signal handlers.
  module CLI
    # Exit statuses; `godwit help` prints them.
    EXIT = {ok: 0, failed: 1, usage: 2, timed_out: 124, interrupted: 130, output_closed: 141}.freeze

    # The meaning of each status to the user.
    EXIT_MEANINGS = {ok: "done", failed: "the operation failed; standard error has the reason",
                     usage: "the command line was wrong", timed_out: "the time of --timeout was up",
                     interrupted: "stopped by Ctrl-C",
                     output_closed: "the output's reader closed it (as `… | head`)"}.freeze

    # The name of the executable.
    PROGRAM = "godwit"

    # The commands that are named after socket types; cli/sockets.rb has them all.
    SOCKETS = %w[req rep pub sub push pull pair dealer router].freeze

    # The class name of each command, in the order of `godwit help`.
    COMMANDS = [
      *SOCKETS, "proxy", "monitor", "check", "log", "sh", "perf", "ttcp", "beacon", "keygen",
      "cert", "completion", "version", "help"
    ].to_h { |name| [name, name.capitalize.to_sym] }.freeze

    # The file of each command whose file has another name than the command.
    FILES = SOCKETS.to_h { |name| [name, "sockets"] }.freeze

    extend Program

    # The error of a wrong command line: the message goes to standard error, the exit status is 2.
    class UsageError < StandardError; end

    # The error of wrong input: the message goes to standard error, the exit status is 1.
    class InputError < StandardError; end

    class << self
      # Runs `ttcp`, as the executable does when a link named `ttcp` starts it. A wrong command line
      # then has exit status 1, as with C ttcp.
      # @param arguments [Array<String>] such as ["-r", "-s"]
      # @return [Integer] exit status, one of {EXIT}
      def run_ttcp(arguments)
        guard(["ttcp", *arguments]) do
          command("ttcp").new(wrong: EXIT[:failed]).run(arguments).tap { $stdout.flush }
        end
      end

      # @param error [Exception] of the library
      # @return [String] the error's message, without the name of the operation in front
      def words_of(error)
        operation = error.respond_to?(:operation) && error.operation
        operation ? error.message.sub(/\A#{Regexp.escape(operation.to_s)}:? /, "") : error.message
      end

      # @param name [String] an unknown name
      # @param known [Array<String>]
      # @return [String] a question that suggests the nearest known name; empty if none is near
      def nearest(name, known)
        require "did_you_mean"
        name = name.scrub
        distance = ->(one) { DidYouMean::Levenshtein.distance(name, one) }
        found = DidYouMean::SpellChecker.new(dictionary: known).correct(name).first ||
          known.select { |one| distance.call(one) < 3 }.min_by(&distance)
        found ? "; did you mean #{found.inspect}?" : ""
      end
    end
  end
end
