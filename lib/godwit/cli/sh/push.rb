# frozen_string_literal: true

module Godwit
  module CLI
    class Sh
      # `godwit sh push`: sends the rows of a command to those that pull.
      class Push < Part
        summary "Runs a command, and sends its rows to those that pull."
        usage "sh push ENDPOINT [options] -- COMMAND [ARGUMENT…]"

        # Bytes of a message; a longer row goes as several.
        LIMIT = 65_536

        # (see Command#run)
        def run(arguments, io: $stdout)
          super
        rescue OptionParser::ParseError => error
          raise if arguments.include?("--") || arguments.size < 2
          endpoint, *command = arguments
          raise UsageError, "#{error.message.lines.first.chomp}: an option of COMMAND? Then -- " \
            "goes before it: godwit sh push #{endpoint} -- #{command.join(" ")}"
        end

        private

        def define(parser)
          parser.on("--connect", "connects to a `pull --bind`; default: binds")
          parser.on("--sep TEXT", "where a row ends; default: a newline (\\t is known)") do |text|
            separator(text)
          end
          parser.on("-0", "--null", "rows end with NUL, as those of `find -print0`") do
            options[:sep] = "\0"
          end
          parser.on("--chomp", "leaves out what ends a row, for readers other than `sh pull`")
          parser.on("--shell", "COMMAND is one text for /bin/sh")
          parser.on("--err", "sends standard error, too: `pull` prints it to its own")
          count_option(parser, "--pulls", "starts when N pull")
          define_common(parser)
          parser.separator <<~TEXT

            An empty host is 127.0.0.1: to serve the network type tcp://*:7100. Several `sh pull`
            share the rows; the high-water marks are the back-pressure. When COMMAND ends, every
            `sh pull` and this command end with its status. When all leave before (as in `pull |
            head`), COMMAND is stopped: status #{EXIT[:output_closed]}. COMMAND reads this command's
            standard input.

          TEXT
        end

        def call(arguments)
          target = endpoint(arguments)
          command = arguments.drop(1)
          raise UsageError, "which command? type #{self.class.usage}" if command.empty?
          require "godwit"
          stream = rows(command)
          bind = !options[:connect]
          socket = open_socket(PUSH, :send_hwm, bind)
          options[:keep] ? keep(socket, target, bind, stream) : push(socket, target, bind, stream)
        ensure
          socket&.close
        end

        # A wrong argument of Shell.rows comes from the command line.
        def rows(command)
          command = [command.join(" ")] if options[:shell]
          input = $stdin unless $stdin.closed? || $stdin.tty?
          Shell.rows(
            *command, shell: options[:shell], chomp: options.fetch(:chomp, false),
            sep: options.fetch(:sep, "\n"), long: :split, limit: LIMIT, encoding: Encoding::BINARY,
            err: options[:err] ? :rows : :inherit, input: input, timeout: options[:timeout]
          )
        rescue ArgumentError => error
          raise UsageError, CLI.words_of(error)
        end

        def push(socket, target, bind, stream)
          push = Shell::Push.new(socket)
          attach(socket, target, bind)
          status = push.run(stream, **limits)
          push.left? ? EXIT[:output_closed] : ended(status)
        end

        # The linger is brief while the command runs: after an interrupt the process does not wait
        # for slow pullers.
        def keep(socket, target, bind, stream)
          socket.linger = Godwit::Context::BRIEF_LINGER
          attach(socket, target, bind)
          status = stream.into(socket, **limits)
          socket.linger = nil
          socket.close
          ended(status)
        end

        # Also waits for those that --pulls asks for.
        def attach(socket, target, bind)
          super
          return unless options[:pulls]
          socket.wait_connected(count: options[:pulls], timeout: options[:timeout])
        end

        def limits = {timeout: options[:timeout], count: options[:count]}

        def ended(status)
          return EXIT[:timed_out] if status.timed_out?
          Shell::Push.exitstatus(status) || EXIT[:failed]
        end
      end
    end
  end
end
