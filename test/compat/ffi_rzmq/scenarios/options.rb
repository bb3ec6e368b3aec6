# frozen_string_literal: true

# Sets and reads the options that ffi-rzmq has.
context = ZMQ::Context.new
socket = context.socket(ZMQ::DEALER)
values = {
  "SNDHWM" => 12, "RCVHWM" => 13, "LINGER" => 250, "RCVTIMEO" => 300, "SNDTIMEO" => 400,
  "RECONNECT_IVL" => 55, "RECONNECT_IVL_MAX" => 66, "BACKLOG" => 77, "RATE" => 88,
  "RECOVERY_IVL" => 99, "SNDBUF" => 10_000, "RCVBUF" => 20_000, "MULTICAST_HOPS" => 3,
  "MAXMSGSIZE" => 5_000_000_000, "AFFINITY" => 1, "IPV4ONLY" => 1, "IPV6" => 0,
  "TCP_KEEPALIVE" => 1, "TCP_KEEPALIVE_CNT" => 5, "TCP_KEEPALIVE_IDLE" => 6,
  "TCP_KEEPALIVE_INTVL" => 7, "IMMEDIATE" => 1, "CONFLATE" => 1, "PLAIN_SERVER" => 0,
  "CURVE_SERVER" => 0, "IDENTITY" => "me", "PLAIN_USERNAME" => "user", "PLAIN_PASSWORD" => "secret",
  "ZAP_DOMAIN" => "domain"
}
values.each do |name, value|
  option = ZMQ.const_get(name)
  before = []
  socket.getsockopt(option, before)
  after = []
  show name, before, socket.setsockopt(option, value), socket.getsockopt(option, after), after
end
%w[TYPE MECHANISM EVENTS RCVMORE LAST_ENDPOINT].each do |name|
  value = []
  show name, socket.getsockopt(ZMQ.const_get(name), value), value
end
show "FD", socket.getsockopt(ZMQ::FD, fd = []), fd.first.is_a?(Integer)
rc "none such", socket.getsockopt(ZMQ::SUBSCRIBE, [])
socket.identity = "another"
show "identity", socket.identity, (socket.identity = :third), socket.identity
show "for ever", socket.setsockopt(ZMQ::RCVTIMEO, -1),
  socket.getsockopt(ZMQ::RCVTIMEO, value = []), value
show "name", socket.name, socket.socket.null?
show "close", socket.close

sub = open_socket(context, ZMQ::SUB)
pub = open_socket(context, ZMQ::PUB)
show "subscribe", sub.setsockopt(ZMQ::SUBSCRIBE, "ab"), sub.setsockopt(ZMQ::SUBSCRIBE, "xyz", 1)
xpub = open_socket(context, ZMQ::XPUB)
xpub.bind("inproc://topics")
sub.connect("inproc://topics")
2.times do
  xpub.recv_string(topic = +"")
  show "subscribed", topic
end
show "unsubscribe", sub.setsockopt(ZMQ::UNSUBSCRIBE, "ab")
xpub.recv_string(topic = +"")
show "unsubscribed", topic
%w[x1 ab y].each { |text| xpub.send_string(text) }
xpub.send_strings(%w[x2 body])
2.times do
  sub.recv_strings(list = [])
  show "published", list
end
show "EVENTS", sub.getsockopt(ZMQ::EVENTS, value = []), value,
  xpub.getsockopt(ZMQ::EVENTS, value), value
show "conflated", pub.setsockopt(ZMQ::CONFLATE, 1), pub.getsockopt(ZMQ::CONFLATE, value), value,
  pub.getsockopt(ZMQ::TYPE, value), value, pub.getsockopt(ZMQ::LINGER, value), value
show "ends", [sub, pub, xpub].map(&:close), context.terminate
