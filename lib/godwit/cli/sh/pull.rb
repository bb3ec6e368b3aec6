# frozen_string_literal: true

module Godwit
  module CLI
    class Sh
      # `godwit sh pull`: the rows of a command that runs elsewhere.
      class Pull < Part
        summary "Prints the rows that a `sh push` sends, and ends as its command did."
        usage "sh pull ENDPOINT [options]"

        private

        def define(parser)
          @ending = ""
          parser.on("--bind", "binds, for `push --connect`; default: connects")
          parser.on("--sep TEXT", "adds TEXT to each row, for senders that omit it (`push " \
            "--chomp`)") { |text| @ending = separator(text) }
          parser.on("--lines", "adds a newline to each row") { @ending = "\n" }
          parser.on("-0", "--null", "adds a NUL to each row") { @ending = "\0" }
          define_common(parser)
          parser.separator <<~TEXT

            A single `sh pull` prints byte for byte what the command wrote. Its status is the
            command's (128 and the signal's number if a signal ended it), or #{EXIT[:failed]} when
            the sender disconnected before the end.

          TEXT
        end

        def call(arguments)
          target = endpoint(arguments)
          no_arguments(arguments.drop(1))
          @count = options[:count]
          bind = options[:bind] || target.match?(%r{\A\w+://\*:})
          require "godwit"
          socket = open_socket(PULL, :recv_hwm, bind)
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

        # Rows of every pusher, until Ctrl-C.
        def keep(socket, target, bind)
          attach(socket, target, bind)
          start = Timeout.now
          until done?
            messages = socket.recv_many(256, timeout: Timeout.left(options[:timeout], start))
            print(messages.filter_map { |message| Shell::Pull.row(message) })
          end
          EXIT[:ok]
        end

        def done? = @count&.zero?

        # @return [Boolean] whether --count is reached
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
