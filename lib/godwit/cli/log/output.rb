# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # Standard output as a broadcaster's sink, for `log serve --file -`.
      # @private
      class Output
        # Bytes that a pipe takes whole or not at all.
        PIPE_BUF = 4096
        private_constant :PIPE_BUF

        # @param form [:json, nil] nil: the lines of a file
        # @yield when the reader of the output has closed it
        def initialize(io, form = nil, &closed)
          require_relative "../../logger/lines"
          @io = io
          @form = form
          @closed = closed
          @terminal = io.tty?
          @written = 0
        end

        # @return [Integer] records written
        attr_reader :written

        # @return [Float] seconds at the end; a blocked pipe must not delay the process's exit
        def patience = 0.4

        def path = "standard output"

        # @raise [SystemCallError] as IO#syswrite
        def write(records)
          lines = records.map { |record| line(record) }
          index = 0
          while index < lines.size
            count, bytes = Godwit::Logger.const_get(:Lines).part(lines, index, PIPE_BUF)
            text = lines[index, count].join
            index += count
            done = 0
            # syswrite leaves nothing in Ruby's buffer.
            done += @io.syswrite(text.byteslice(done..)) while done < bytes
            @written += count
          end
        rescue Errno::EPIPE => error
          @closed.call(error)
          raise
        end

        # Standard output has no path to reopen.
        def reopen = nil

        private

        # As in a file, but escaped for a terminal. A record that cannot be formatted must not hold
        # up the others.
        def line(record)
          text = (@form == :json) ? "#{record.to_json}\n" : record.to_s
          (@terminal ? Godwit::Logger::View.escape(text.scrub, lines: true) : text).b
        rescue
          "#{record.inspect}\n".b
        end
      end
    end
  end
end
