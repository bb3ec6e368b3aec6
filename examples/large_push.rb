# frozen_string_literal: true

# Sends COUNT messages of SIZE bytes to large_pull.rb, copied or in place:
#
#   ruby -Ilib examples/large_push.rb ENDPOINT SIZE COUNT copy|in-place
require "godwit"

abort "usage: large_push.rb ENDPOINT SIZE COUNT copy|in-place" unless ARGV.size == 4
endpoint, size, count, how = ARGV[0], Integer(ARGV[1]), Integer(ARGV[2]), ARGV[3]
message = ("x" * size).freeze # frozen: libzmq may send it from where it is

Godwit::PUSH.connect(endpoint, send_hwm: 4, copy_threshold: (how == "copy") ? nil : 0) do |push|
  count.times { push << message }
end
