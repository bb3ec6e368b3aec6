# frozen_string_literal: true

require "test_helper"

# Law 2 (no wake-up is lost) over FFI: only a few files call the functions that may consume an edge
# of ZMQ_FD. Their code then wakes the other waiters, or runs while the socket has no waiters.
class FFILayersTest < Godwit::TestCase
  FOLDER = File.expand_path("../../lib/godwit/backend/ffi", __dir__)
  ALLOWED = {
    /Zmq\.zmq_(msg_send|send|msg_recv|getsockopt|setsockopt)\b/ => %w[socket/raw_socket.rb],
    /Zmq\.(receive|send_string)\b/ => %w[socket/receiver.rb socket/sender.rb],
    /LibC\.wait_poll\b/ => %w[waiter.rb]
  }.freeze

  ALLOWED.each do |call, files|
    test "only #{files.join(", ")} make the call #{call.source}" do
      found = Dir["**/*.rb", base: FOLDER].select { |path| File.read("#{FOLDER}/#{path}")[call] }
      assert_equal files, found.sort
    end
  end
end
