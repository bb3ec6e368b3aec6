# frozen_string_literal: true

# Makes changes: KEY=VALUE sets, KEY= deletes, COUNT*KEY=VALUE sets COUNT keys, with -1, -2, …
# appended.
#
#   ruby -Ilib examples/guide/clone/writer.rb COLLECTOR CHANGE…
#   ruby -Ilib examples/guide/clone/writer.rb tcp://127.0.0.1:5558 /fruit/apple=red \
#     100*/fruit/pear=green /fruit/apple=
#
# With TTL=5 in the environment the server deletes the keys after 5 seconds.
require "godwit"
require "securerandom"

endpoint, *changes = ARGV
abort "usage: writer.rb COLLECTOR CHANGE…" if changes.empty?
properties = ENV["TTL"] ? "ttl=#{Integer(ENV["TTL"])}\n" : ""
%w[INT TERM].each { |signal| trap(signal) { exit } }

Godwit::PUB.connect(endpoint, send_hwm: 0) do |pub|
  pub.wait_connected # the server has subscribed
  set = ->(key, value) { pub << [key, "\0" * 8, SecureRandom.bytes(16), properties, value] }

  changes.each do |change|
    count, key, value = change.match(/\A(?:(\d+)\*)?([^=]+)=(.*)\z/m)&.captures ||
      abort("what is #{change}?")
    count ? 1.upto(Integer(count)) { |time| set[key, "#{value}-#{time}"] } : set[key, value]
  end
end
