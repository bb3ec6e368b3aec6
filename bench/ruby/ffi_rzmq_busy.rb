# frozen_string_literal: true

# ffi_rzmq_busy.rb ENDPOINT SIZE SECONDS HWM: as bench/c/busy_pull.c, with ffi-rzmq beside a busy
# Ruby thread.
require_relative "ffi_rzmq"
require_relative "busy"

run = Busy.run(ARGV)
context = ZMQ::Context.new
pull, endpoint = FFIRzmq.bind(context, ZMQ::PULL, run.endpoint) do |socket|
  FFIRzmq.check socket.setsockopt(ZMQ::RCVHWM, run.hwm)
end
Busy.thread
Common.ready(endpoint)
buffer = +""
Busy.report("ffi_rzmq_busy", run, nil) do
  FFIRzmq.check pull.recv_string(buffer)
  [buffer]
end
pull.close
context.terminate
