# frozen_string_literal: true

require "test_helper"

# A forked child cannot use the FFI backend, but it can exit, also when the parent forks inside the
# block of a socket, a context or a pool.
class FFIForkTest < Godwit::TestCase
  # `end_of_child` yields a Proc that forks a child, which calls exit(4). `end_of_child` returns the
  # child's exit status, which is 5 after a ForkedError.
  PRELUDE = <<~RUBY
    require "godwit"
    TCP = "tcp://127.0.0.1:*"
    def end_of_child
      parent = Process.pid
      child = nil
      begin
        yield(lambda do
          next if (child = fork)
          Process.setrlimit(:CPU, 5) # ends a child that tries for ever
          exit(4)
        end)
      rescue SystemExit => error
        exit!(error.status)
      rescue Godwit::ForkedError
        exit!(5)
      end
      exit!(6) unless Process.pid == parent
      Process.wait2(child).last.exitstatus
    end
  RUBY

  test "a child leaves the block of its parent's object by exit, and does not close the object" do
    not_on :jruby, "JRuby cannot fork"
    assert_done <<~RUBY
      pool = Godwit::Pool.new { Godwit::PULL.bind(TCP) }
      statuses = [
        end_of_child { |go| Godwit::PULL.bind(TCP) { go.call } },
        end_of_child { |go| Godwit::Context.new { |one| one.socket(:PULL).bind(TCP) && go.call } },
        end_of_child { |go| pool.with { go.call } }
      ]
      abort statuses.inspect unless statuses == [4, 4, 4]
    RUBY
  end

  test "a child that closes an object of its parent gets ForkedError" do
    not_on :jruby, "JRuby cannot fork"
    assert_done <<~RUBY
      context = Godwit::Context.new
      pull = context.socket(:PULL).bind(TCP)
      statuses = [pull.monitor, pull, context].map do |one|
        end_of_child do |go|
          go.call
        ensure
          one.close
        end
      end
      abort statuses.inspect unless statuses == [5, 5, 5]
    RUBY
  end
end
