# frozen_string_literal: true

# Sends COUNT messages of SIZE bytes to pull.rb, BATCH at a time:
#
#   ruby -Ilib examples/push.rb ENDPOINT SIZE COUNT [BATCH]
require "godwit"

abort "usage: push.rb ENDPOINT SIZE COUNT [BATCH]" unless ARGV.size.between?(3, 4)
endpoint, size, count, batch = ARGV[0], *ARGV[1..].map { |number| Integer(number) }
message = "x" * size

Godwit::PUSH.connect(endpoint) do |push|
  if batch
    messages = [message] * batch
    (count / batch).times { push.send_many(messages) }
    push.send_many([message] * (count % batch)) unless (count % batch).zero?
  else
    count.times { push << message }
  end
end
