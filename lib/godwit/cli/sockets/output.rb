# frozen_string_literal: true

require "io/wait"

module Godwit
  module CLI
    module Sockets
      # Prints messages, each batch in one write.
      class Output
        def initialize(io, form)
          @io = io
          @form = form
          # Ruby's buffer would delay the process's exit while a pipe is blocked.
          io.sync = true
          io.binmode
        end

        def print(messages)
          @io.write(messages.map { |frames| @form.encode(frames).b }.join) if messages.any?
        end

        # Calls the block when the reader of a pipe has closed it.
        # @return [Thread, nil] nil where the output is no pipe, and on JRuby
        def on_close
          return if RUBY_ENGINE == "jruby" || !@io.respond_to?(:stat) || !@io.stat.pipe?
          Thread.new do
            @io.wait(IO::PRIORITY, nil)
            yield
          end
        end
      end
    end
  end
end
