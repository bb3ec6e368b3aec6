# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # Standard output in place of a file, for `log serve --file -`: what a broadcaster takes for a
      # sink.
      # @private
      class Output
        # Bytes that a pipe takes whole or not at all.
        PIPE_BUF = 4096
        private_constant :PIPE_BUF

        # @param io [IO]
        # @param form [:json, nil] nil: the lines of a file
        # @yield when the reader of the output has gone
        def initialize(io, form = nil, &gone)
          require_relative "../../logger/lines"
          @io = io
          @form = form
          @gone = gone
          @terminal = io.tty?
          @written = 0
        end

        # @return [Integer] records whose lines have gone
        attr_reader :written

        # @return [Float] seconds that it has at the end: one that nobody reads must not hold up the
        #   process
        def patience = 0.4

        def path = "standard output"

        # @param records [Array<Logger::Record>]
        # @raise [SystemCallError] as IO#syswrite
        def write(records)
          lines = records.map { |record| line(record) }
          index = 0
          while index < lines.size
            count, bytes = Godwit::Logger.const_get(:Lines).part(lines, index, PIPE_BUF)
            text = lines[index, count].join
            index += count
            done = 0
            # Nothing stays in a buffer of Ruby's.
            done += @io.syswrite(text.byteslice(done..)) while done < bytes
            @written += count
          end
        rescue Errno::EPIPE => error
          @gone.call(error)
          raise
        end

        # There is nothing to open anew.
        def reopen = nil

        private

        # As a file gets it, but that none steers a terminal. One that nobody can format must not
        # stand in the way of the others.
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
