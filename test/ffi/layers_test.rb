# frozen_string_literal: true

require "test_helper"

# Law 2 over FFI: the calls that may consume an edge of ZMQ_FD are made in a few files, whose
# functions settle, or run where a socket has no waiters.
class FFILayersTest < Godwit::TestCase
  FOLDER = File.expand_path("../../lib/godwit/backend/ffi", __dir__)
  ALLOWED = {
    /Zmq\.zmq_(msg_send|send)\b/ => %w[transfer.rb],
    /Zmq\.zmq_msg_recv\b/ => %w[transfer.rb monitor_pump.rb], # the latter from its PAIR
    /Zmq\.(receive|send_string)\b/ => %w[fast_path.rb receiver.rb sender.rb],
    /Zmq\.zmq_(get|set)sockopt\b/ => %w[option_kinds.rb],
    /OptionKinds\.(get|set)\b/ => %w[transfer.rb socket_handle.rb monitor_pump.rb]
  }.freeze

  ALLOWED.each do |call, files|
    test "only #{files.join(", ")} make the call #{call.source}" do
      found = Dir[File.join(FOLDER, "*.rb")].select { |path| File.read(path).match?(call) }
      assert_equal files.sort, found.map { |path| File.basename(path) }.sort
    end
  end
end
