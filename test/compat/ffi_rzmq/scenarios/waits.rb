# frozen_string_literal: true

# Time-outs of sends and receives.
context = ZMQ::Context.new
pull = open_socket(context, ZMQ::PULL)
push = open_socket(context, ZMQ::PUSH)
pull.setsockopt(ZMQ::RCVTIMEO, 50)
push.setsockopt(ZMQ::SNDTIMEO, 50)
start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
rc "received nothing", pull.recv_string(+"")
rc "received nothing", pull.recvmsgs([])
rc "sent nothing", push.send_string("x")
rc "sent nothing", push.send_strings(%w[a b])
rc "sent no part", push.send_string("x", ZMQ::SNDMORE)
took = Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
show "took its time", took > 0.2, took < 5
pull.bind("inproc://waits")
push.connect("inproc://waits")
rc "the parts that failed are gone", push.send_string("whole")
rc "recv_strings", pull.recv_strings(list = [])
show "list", list
show "ends", push.close, pull.close, context.terminate
