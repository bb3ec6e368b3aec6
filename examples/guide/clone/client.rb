# frozen_string_literal: true

# Keeps a copy of the server's map, or of a SUBTREE such as /fruit/, and prints its changes until
# change number LAST.
#
#   ruby -Ilib examples/guide/clone/client.rb [SNAPSHOTS [UPDATES [LAST [SUBTREE]]]]
require "godwit"

snapshots = ARGV[0] || "tcp://127.0.0.1:5556"
updates = ARGV[1] || "tcp://127.0.0.1:5557"
last = Integer(ARGV[2] || 1 << 62)
subtree = ARGV[3] || ""
silence = 10 # seconds; the server says something each second
%w[INT TERM].each { |signal| trap(signal) { exit } }
$stdout.sync = true

number = ->(bytes) { bytes.unpack1("Q>") }

# The current map and the number of its last change.
take_snapshot = lambda do
  Godwit::DEALER.connect(snapshots, recv_hwm: 0, linger: 0) do |dealer|
    dealer << ["ICANHAZ?", subtree]
    copy = {}
    until (key, bytes, _, _, value = dealer.recv(timeout: silence)).first == "KTHXBAI"
      copy[key] = value
    end
    puts "snapshot: #{copy.size} keys, change #{number[bytes]}"
    [copy, number[bytes]]
  end
end

Godwit::SUB.connect(updates, subscribe: [subtree, "HUGZ"].uniq, recv_hwm: 0) do |sub|
  copy = known = nil
  until known && known >= last
    key, bytes, _, _, value = sub.recv(timeout: silence)
    change = number[bytes] # 0: a sign of life

    # The first message shows that the subscription is active. A snapshot from before could lack
    # changes that this client did not get either. A later gap (the connection broke) needs a new
    # snapshot too. The numbers of a subtree do not show gaps.
    copy, known = take_snapshot.call if known.nil? || (subtree.empty? && change > known + 1)
    next unless change > known # the snapshot had it

    known = change
    value.empty? ? copy.delete(key) : copy[key] = value
    puts "#{change}: #{key} #{value.empty? ? "is gone" : "is #{value}"}"
  end
  puts "copy: #{copy.sort.map { |key, value| "#{key}=#{value}" }.join(" ")}"
rescue Godwit::TimeoutError
  abort "the server has been silent for #{silence} s"
end
