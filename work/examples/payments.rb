# frozen_string_literal: true

# A consumer of the log that GODWIT_WORK_URL names: ruby payments.rb FOLDER. It copies each payment
# to the topic "paid".
require "godwit/work"

Godwit::Work.topic "paid"

class Payments < Godwit::Work::Consumer
  topic "payments"
  parallel by: :key
  retries 1, backoff: 0..0

  def perform(message)
    raise "no such account" if message.value == "poison" && !File.exist?("#{ARGV[0]}/mended")
    produce "paid", message.value, key: message.key
  end
end

runner = Godwit::Work::Runner.new([Payments], workers: 16)
Signal.trap(:TERM) { Thread.new { runner.stop } }
runner.run
