# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # Standard output in place of a file, for `log serve --file -`: what a broadcaster takes for a sink.
      # @private
      class Output
        # @param io [IO]
        # @yield when the reader of the output has gone
        def initialize(io, &gone)
          @io = io
          @gone = gone
          @terminal = io.tty?
        end

        def path = "standard output"

        # @param records [Array<Logger::Record>]
        # @raise [SystemCallError] as IO#syswrite
        def write(records)
          text = records.map { |record| line(record) }.join
          done = 0
          done += @io.syswrite(text.byteslice(done..)) while done < text.bytesize # nothing stays in a buffer of Ruby's
        rescue Errno::EPIPE => error
          @gone.call(error)
          raise
        end

        # There is nothing to open anew.
        def reopen = nil

        private

        # As a file gets it, but that none steers a terminal. One that nobody can format must not stand in the way of the others.
        def line(record)
          text = record.to_s
          (@terminal ? Godwit::Logger::View.escape(text.scrub, lines: true) : text).b
        rescue
          "#{record.inspect}\n".b
        end
      end
    end
  end
end
