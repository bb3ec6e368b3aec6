# frozen_string_literal: true

module Godwit
  module TestSupport
    # Programs that end while their messages have no peer.
    module UnsentPrograms
      # @param options [String] source text of the socket's options
      def unsent(options)
        "push = Godwit::PUSH.connect('tcp://127.0.0.1:1', #{options})\npush.send('never delivered')"
      end

      # Opens three contexts with a linger of 0.5 s, 0.5 s + `step` and 0.5 s + 2 * `step`, and
      # closes the socket of the third context.
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
