# frozen_string_literal: true

# A device that sends the machine's load every 5 seconds and takes orders for another interval.
# It runs on mruby. With keys, which `godwit keygen` makes, its messages go over CURVE:
#
#   tmp/mruby/3.1.0/mruby-godwit examples/mruby/device.rb ENDPOINT [SERVER.key DEVICE.key_secret]
#
# The other side is collector.rb.
INTERVAL = 5 # seconds
KEPT = 100 # readings that wait while the collector is away

# mruby has no Godwit::Cert.
def key(file, name) = File.read(file).split("#{name} = \"").last[0, 40]

endpoint, server, device = ARGV
unless ARGV.size == 1 || ARGV.size == 3
  raise ArgumentError, "usage: device.rb ENDPOINT [SERVER.key DEVICE.key_secret]"
end
security = {}
if server
  keys = Godwit::Curve::Keypair.new(secret_key: key(device, "secret-key"))
  security = {curve: keys, server_key: key(server, "public-key")}
end

socket = Godwit::DEALER.connect(endpoint, send_hwm: KEPT, linger: 0, **security)
interval = INTERVAL
number = 0
loop do
  load = File.read("/proc/loadavg").split.first
  # Without a wait: a reading beyond KEPT is lost.
  socket.send([(number += 1).to_s, load], timeout: 0, exception: false)
  # The wait for an order is the pause until the next reading.
  order = socket.recv(timeout: interval, exception: false)
  interval = Float(order) if order
end
