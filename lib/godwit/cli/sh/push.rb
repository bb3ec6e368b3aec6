# frozen_string_literal: true

module Godwit
  module CLI
    class Sh
      # `godwit sh push`: the rows of a command, to those that pull.
      class Push < Part
        summary "Runs a command, and sends its rows to those that pull."
        usage "sh push ENDPOINT [options] -- COMMAND [ARGUMENT…]"

        # Bytes of a message; a longer row goes as several.
        LIMIT = 65_536

        # @param arguments [Array<String>] as {Command#run}
        # @param options [Hash] as {Command#run}
        # @return [Integer] exit status
        # @raise [UsageError, OptionParser::ParseError] as {Command#run}
        def run(arguments, **options)
          super
        rescue OptionParser::ParseError => error
          raise if arguments.include?("--") || arguments.size < 2
          endpoint, *command = arguments
          raise UsageError,
            "#{error.message.lines.first.chomp}: an option of COMMAND? Then -- goes before " \
            "it: godwit sh push #{endpoint} -- #{command.join(" ")}"
        end

        private

        def define(options)
          @separator = "\n"
          options.on("--connect", "connects to a `pull --bind`; else it binds") { @connect = true }
          options.on(
            "--sep TEXT", "where a row ends; a newline unless told (\\t, \\0… are known)"
          ) { |text| @separator = separator(text) }
          options.on("-0", "--null", "rows end with NUL, as those of `find -print0`") do
            @separator = "\0"
          end
          options.on("--chomp", "leaves out what ends a row, for readers other than `sh pull`") do
            @chomp = true
          end
          options.on("--shell", "COMMAND is one text for /bin/sh") { @shell = true }
          options.on("--err", "sends standard error, too: `pull` prints it to its own") do
            @err = true
          end
          options.on(
            "--pulls N", OptionParser::DecimalInteger, "starts when so many pull"
          ) { |count| @pulls = positive(count, "--pulls") }
          define_common(options)
          options.separator ""
          options.separator "An empty host is 127.0.0.1: to serve the network say tcp://*:7100. " \
            "Several that pull share the rows; the high-water"
          options.separator "marks are the back-pressure. When COMMAND ends, all that pull end " \
            "with its status, and so does this. When all"
          options.separator "leave before (as in `pull | head`), COMMAND is stopped: " \
            "status #{EXIT[:output_closed]}. COMMAND's standard input is this one's."
          options.separator ""
        end

        def call(arguments)
          target = endpoint(arguments.first)
          command = arguments.drop(1)
          raise UsageError, "which command? type #{self.class.usage}" if command.empty?
          require "godwit"
          stream = rows(command)
          socket =
            PUSH.new(**{send_hwm: @hwm}.compact, **(@connect ? client_security : server_security))
          @keep ? keep(socket, target, stream) : push(socket, target, stream)
        ensure
          socket&.close
        end

        # What a command line says wrongly about the command is a wrong command line.
        def rows(command)
          command = [command.join(" ")] if @shell
          input = $stdin unless $stdin.closed? || $stdin.tty?
          Shell.rows(
            *command, shell: @shell, chomp: @chomp || false, sep: @separator, long: :split,
            limit: LIMIT, encoding: Encoding::BINARY, err: @err ? :rows : :inherit, input: input,
            timeout: @timeout
          )
        rescue ArgumentError => error
          raise UsageError, CLI.words_of(error)
        end

        def push(socket, target, stream)
          push = Shell::Push.new(socket)
          attach(socket, target, !@connect)
          wait_for_pulls(socket)
          status = push.run(stream, timeout: @timeout, count: @count)
          return EXIT[:output_closed] if push.left?
          ended(status)
        end

        # Interrupted, it does not wait for those that take their time.
        def keep(socket, target, stream)
          socket.linger = Godwit::Context::BRIEF_LINGER
          attach(socket, target, !@connect)
          wait_for_pulls(socket)
          status = stream.into(socket, timeout: @timeout, count: @count)
          socket.linger = nil
          socket.close
          ended(status)
        end

        def wait_for_pulls(socket)
          socket.wait_connected(count: @pulls, timeout: @timeout) if @pulls
        end

        def ended(status)
          return EXIT[:timed_out] if status.timed_out?
          Shell::Push.exitstatus(status) || EXIT[:failed]
        end
      end
    end
  end
end
