# frozen_string_literal: true

module Godwit
  module TestSupport
    # Programs whose messages have no peer when the program ends.
    module UnsentPrograms
      # @param options [String] of the socket
      def unsent(options)
        "push = Godwit::PUSH.connect('tcp://127.0.0.1:1', #{options})\npush.send('never delivered')"
      end

      # Three contexts, whose lingers are 0.5 s and once or twice `step` more. The last context's
      # socket is closed.
      # @param step [Float] seconds
      def unsent_in_contexts(step) = <<~RUBY
        3.times do |number|
          context = Godwit::Context.new(linger: 0.5 + number * #{step})
          push = Godwit::PUSH.connect("tcp://127.0.0.1:1", context: context)
          push.send("x")
          push.close if number == 2
        end
      RUBY
    end
  end
end
