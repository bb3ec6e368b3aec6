# frozen_string_literal: true

module Godwit
  module TestSupport
    # PRELUDE is the start of a program that forks children with a deadline.
    module Forking
      PRELUDE = <<~RUBY
        require "godwit"

        # Runs the block in a forked child. The program ends with an error when the block raises,
        # returns false or nil, or takes longer than `seconds`.
        def in_child(seconds = HANG)
          pid = fork do
            Thread.new { sleep(seconds); warn "the child hangs"; exit!(3) }
            begin
              exit!(yield ? 0 : 1)
            rescue Exception => error
              warn error.full_message(highlight: false)
              exit!(2)
            end
          end
          _, status = Process.wait2(pid)
          abort "the child ended with \#{status}" unless status.success?
        end

        def forked
          yield
          raise "no ForkedError"
        rescue Godwit::ForkedError
          true
        end

        def pair(context = Godwit.context)
          pull = Godwit::PULL.bind("tcp://127.0.0.1:*", context: context)
          [pull, Godwit::PUSH.connect(pull.last_endpoint, context: context)]
        end

        def check(pull, push)
          push.send("still here")
          abort "the parent was disturbed" unless pull.recv(timeout: 5) == "still here"
          true
        end
      RUBY
    end
  end
end
