# frozen_string_literal: true

module Godwit
  module CLI
    class Sh
      # `godwit sh pull`: the rows of a command that runs elsewhere.
      class Pull < Part
        summary "Prints the rows that a `sh push` sends, and ends as its command did."
        usage "sh pull ENDPOINT [options]"

        private

        def define(options)
          @ending = ""
          options.on("--bind", "binds, for `push --connect`; else it connects") { @bind = true }
          options.on(
            "--sep TEXT", "adds this to each row, for senders that leave it out (`push --chomp`)"
          ) { |text| @ending = separator(text) }
          options.on("--lines", "adds a newline to each row") { @ending = "\n" }
          options.on("-0", "--null", "adds a NUL to each row") { @ending = "\0" }
          define_common(options)
          options.separator ""
          options.separator "Prints byte for byte what the command wrote, as long as it is the " \
            "only one that pulls. The status is the command's"
          options.separator "(128 and the signal's number, if one ended it), or #{EXIT[:failed]} " \
            "when the other side went away before its end."
          options.separator ""
        end

        def call(arguments)
          target = endpoint(arguments.first)
          no_arguments(arguments.drop(1))
          bind = @bind || target.match?(%r{\A\w+://\*:})
          require "godwit"
          socket =
            PULL.new(**{recv_hwm: @hwm}.compact, **(bind ? server_security : client_security))
          @keep ? keep(socket, target, bind) : pull(socket, target, bind)
        ensure
          socket&.close
        end

        def pull(socket, target, bind)
          pull = Shell::Pull.new(socket)
          attach(socket, target, bind)
          pull.each_batch(timeout: @timeout) { |rows| break if print(rows) }
          warn "godwit: #{pull.foreign} messages were no rows" if pull.foreign.positive?
          return EXIT[:ok] if done?
          warn "godwit: the other side went away before its end" unless pull.complete?
          return EXIT[:timed_out] if pull.ends.any? { |facts| facts[:timed_out] }
          pull.complete? ? pull.exitstatus || EXIT[:failed] : EXIT[:failed]
        end

        # Rows of every pusher, until Ctrl-C.
        def keep(socket, target, bind)
          attach(socket, target, bind)
          finish = @timeout && Timeout.now + @timeout
          until done?
            messages = socket.recv_many(256, timeout: finish && [finish - Timeout.now, 0].max)
            print(messages.filter_map { |message| Shell::Pull.row(message) })
          end
          EXIT[:ok]
        end

        def done? = @count&.zero?

        # @return [Boolean] whether these were the last
        def print(rows)
          if @count
            rows = rows.first(@count)
            @count -= rows.size
          end
          out = rows.flat_map do |row|
            kind, text = row.is_a?(Array) ? row : [:out, row]
            (kind == :err) ? error(text) : [text, @ending]
          end
          io.write(*out)
          io.flush
          done?
        end

        def error(row)
          $stderr.write(row, @ending)
          []
        end
      end
    end
  end
end
