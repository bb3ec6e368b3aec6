# frozen_string_literal: true

# Serves a map of keys and values, of which any number of clients keep a copy (RFC 12/CHP). The
# server numbers each change, so a client can combine its snapshot with the later changes without a
# gap.
#
#   ruby -Ilib examples/guide/clone/server.rb [SNAPSHOTS [UPDATES [COLLECTOR [HEARTBEAT]]]]
require "godwit"

heartbeat = Float(ARGV[3] || 1)
# Without limits: a ROUTER and a PUB drop what is above.
snapshots = Godwit::ROUTER.bind(ARGV[0] || "tcp://127.0.0.1:5556", send_hwm: 0)
updates = Godwit::PUB.bind(ARGV[1] || "tcp://127.0.0.1:5557", send_hwm: 0)
collector = Godwit::SUB.bind(ARGV[2] || "tcp://127.0.0.1:5558", subscribe: "", recv_hwm: 0)
$stdout.sync = true
puts "ready at #{snapshots.last_endpoint} for snapshots, #{updates.last_endpoint} for updates, " \
  "#{collector.last_endpoint} for changes"

values = {}
expiries = {}
number = 0
packed = ->(integer) { [integer].pack("Q>") }

Godwit::Loop.run do |loop|
  %w[INT TERM].each { |signal| trap(signal) { loop.stop } }

  # A heartbeat if no change was sent. It also shows a new client that its subscription is active.
  hugz = loop.every(heartbeat) { updates << ["HUGZ", packed[0], "", "", ""] }

  change = lambda do |key, uuid, properties, value|
    number += 1
    value.empty? ? values.delete(key) : values[key] = [number, value]
    updates << [key, packed[number], uuid, properties, value]
    hugz.reset
    expiries.delete(key)&.cancel
    seconds = properties[/^ttl=(\d+)$/, 1]
    next unless seconds && !value.empty?
    expiries[key] = loop.after(Integer(seconds)) { change[key, "", "", ""] }
  end

  loop.readable(collector) do
    key, _, uuid, properties, value = collector.recv
    change[key, uuid, properties, value] if value # else it is no change
  end

  loop.readable(snapshots) do
    client, command, subtree = snapshots.recv
    next unless command == "ICANHAZ?" && subtree
    values.each do |key, (changed, value)|
      snapshots << [client, key, packed[changed], "", "", value] if key.start_with?(subtree)
    end
    snapshots << [client, "KTHXBAI", packed[number], "", "", subtree]
  end
end
puts "#{number} changes, #{values.size} keys"
[snapshots, updates, collector].each(&:close)
