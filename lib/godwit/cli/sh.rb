# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit sh push|pull`: sends the rows that a command prints to other machines.
    class Sh < Family
      summary "Sends the rows of a command to another machine, where `sh pull` prints them."
      usage "sh push|pull ENDPOINT [options]"

      # What `push` and `pull` have in common.
      class Subcommand < Family::Subcommand
        ESCAPES = {"n" => "\n", "r" => "\r", "t" => "\t", "0" => "\0", "\\" => "\\"}.freeze
        private_constant :ESCAPES

        private

        def define_common(parser)
          count_option(parser, "--count", "ends after N rows")
          timeout_option(parser)
          count_option(parser, "--hwm", "high-water mark: rows that may wait here (1000)")
          parser.on("--keep", "for workers: neither side ends with the other; give it to both")
          define_keys(parser)
          define_quiet(parser)
        end

        def separator(text)
          raise UsageError, "--sep needs a separator, such as ';' or '\\t'" if text.empty?
          text.gsub(/\\([nrt0\\])/) { ESCAPES[$1] }
        end

        # The socket that binds is the CURVE server.
        def open_socket(type, hwm, endpoint, bind)
          security = bind ? server_security(endpoint) : client_security(endpoint)
          socket = type.new(**{hwm => options[:hwm]}.compact, **security)
          PeerNotice.new(socket) unless bind || options[:quiet]
          socket
        end

        # Prints the endpoint if the system chose the port.
        def attach(socket, endpoint, bind)
          bind ? socket.bind(endpoint) : socket.connect(endpoint)
          warn "godwit: #{socket.last_endpoint}" if endpoint.end_with?("*")
        end
      end

      SUBCOMMANDS = {"push" => :Push, "pull" => :Pull}.freeze # the help lists them in this order

      # `godwit sh push`: sends the rows of a command to all processes that pull.
      class Push < Subcommand
        summary "Runs a command, and sends its rows to those that pull."
        usage "sh push ENDPOINT [options] -- COMMAND [ARGUMENT…]"
        notes <<~TEXT
          An empty host is 127.0.0.1: to serve the network type tcp://*:7100. Several `sh pull`
          share the rows; the high-water marks are the back-pressure. When COMMAND ends, every
          `sh pull` and this command end with its status. When all leave before (as in `pull |
          head`), COMMAND is stopped: status #{EXIT[:output_closed]}. COMMAND reads this command's
          standard input.
        TEXT

        LIMIT = 65_536 # bytes of a message; push sends a longer row as several messages

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
          parser.on("-0", "--null", "rows end with NUL (`find -print0`)") { options[:sep] = "\0" }
          parser.on("--chomp", "leaves out what ends a row, for readers other than `sh pull`")
          parser.on("--shell", "COMMAND is one text for /bin/sh")
          parser.on("--err", "sends standard error, too: `pull` prints it to its own")
          count_option(parser, "--pulls", "starts when N pull")
          define_common(parser)
        end

        def call(arguments)
          target = foreign_endpoint(arguments)
          command = arguments.drop(1)
          raise missing("command") if command.empty?
          require "godwit"
          stream = rows(command)
          bind = !options[:connect]
          socket = open_socket(PUSH, :send_hwm, target, bind)
          options[:keep] ? keep(socket, target, bind, stream) : push(socket, target, bind, stream)
        ensure
          socket&.close
        end

        # Starts the command. An argument that Shell.rows refuses is an error of the command line.
        def rows(command)
          command = [command.join(" ")] if options[:shell]
          input = $stdin unless $stdin.closed? || $stdin.tty?
          Shell.rows(*command, shell: options[:shell], chomp: options.fetch(:chomp, false),
            sep: options.fetch(:sep, "\n"), long: :split, limit: LIMIT, encoding: Encoding::BINARY,
            err: options[:err] ? :rows : :inherit, input: input, timeout: options[:timeout])
        rescue ArgumentError => error
          raise UsageError, CLI.words_of(error)
        end

        def push(socket, target, bind, stream)
          push = Shell::Push.new(socket)
          attach(socket, target, bind)
          status = push.run(stream, **limits)
          push.left? ? EXIT[:output_closed] : ended(status)
        end

        # Sends the rows. The linger is brief while the command runs, so that an interrupt does not
        # wait for slow pullers.
        def keep(socket, target, bind, stream)
          socket.linger = Godwit::Context::BRIEF_LINGER
          attach(socket, target, bind)
          status = stream.into(socket, **limits)
          socket.linger = nil
          socket.close
          ended(status)
        end

        # Attaches the socket, and waits until as many pullers are connected as --pulls says.
        def attach(socket, target, bind)
          super
          return unless options[:pulls]
          socket.wait_connected(count: options[:pulls], timeout: options[:timeout])
        end

        def limits = {timeout: options[:timeout], count: options[:count]}

        def ended(status)
          return EXIT[:timed_out] if status.timed_out?
          warn "godwit: #{status}" if status.unknown? && !status.stopped?
          Shell::Push.exitstatus(status) || EXIT[:failed]
        end
      end

      # `godwit sh pull`: prints the rows of a command that `sh push` runs.
      class Pull < Subcommand
        summary "Prints the rows that a `sh push` sends, and ends as its command did."
        usage "sh pull ENDPOINT [options]"
        notes <<~TEXT
          A single `sh pull` prints byte for byte what the command wrote. Its status is the
          command's (128 and the signal's number if a signal ended it), or #{EXIT[:failed]} when
          the sender disconnected before the end.
        TEXT

        private

        def define(parser)
          @ending = ""
          parser.on("--bind", "binds, for `push --connect`; default: connects")
          parser.on("--sep TEXT", "adds TEXT to each row, for senders that omit it (`push " \
            "--chomp`)") { |text| @ending = separator(text) }
          parser.on("--lines", "adds a newline to each row") { @ending = "\n" }
          parser.on("-0", "--null", "adds a NUL to each row") { @ending = "\0" }
          define_common(parser)
        end

        def call(arguments)
          target = foreign_endpoint(arguments)
          no_arguments(arguments.drop(1))
          @count = options[:count]
          bind = options[:bind] || target.match?(%r{\A\w+://\*:})
          require "godwit"
          socket = open_socket(PULL, :recv_hwm, target, bind)
          options[:keep] ? keep(socket, target, bind) : pull(socket, target, bind)
        ensure
          socket&.close
        end

        def pull(socket, target, bind)
          pull = Shell::Pull.new(socket)
          attach(socket, target, bind)
          pull.each_batch(timeout: options[:timeout]) { |rows| break if print(rows) }
          warn "godwit: #{pull.foreign} messages were no rows" if pull.foreign.positive?
          return EXIT[:ok] if done?
          warn "godwit: the other side went away before its end" unless pull.complete?
          return EXIT[:timed_out] if pull.ends.any? { |facts| facts[:timed_out] }
          pull.complete? ? pull.exitstatus || EXIT[:failed] : EXIT[:failed]
        end

        # Prints the rows of every pusher, until Ctrl-C, --count or --timeout ends it.
        def keep(socket, target, bind)
          attach(socket, target, bind)
          start = Timeout.now
          until done?
            messages = socket.recv_many(256, timeout: Timeout.remaining(options[:timeout], start))
            print(messages.filter_map { |message| Shell::Pull.row(message) })
          end
          EXIT[:ok]
        end

        def done? = @count&.zero?

        def print(rows)
          if @count
            rows = rows.first(@count)
            @count -= rows.size
          end
          out = rows.flat_map do |row|
            kind, text = row.is_a?(Array) ? row : [:out, row]
            next [text, @ending] unless kind == :err
            $stderr.write(text, @ending)
            []
          end
          io.write(*out)
          io.flush
          done?
        end
      end
    end
  end
end
