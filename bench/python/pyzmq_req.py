"""pyzmq_req.py ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_req.c, with pyzmq."""
import sys
import time

import common
import zmq

run = common.Run(sys.argv[1:])
context = zmq.Context()
socket = context.socket(zmq.REQ)
socket.connect(run.endpoint)


def round_trips(send, recv, payload, stamps, count):
    for index in range(1, count + 1):
        send(payload)
        recv()
        stamps[index] = time.monotonic_ns()


round_trips(socket.send, socket.recv, run.payload, [0] * (run.warmup + 1), run.warmup)
cpu = time.process_time_ns()
stamps = [time.monotonic_ns()] * (run.count + 1)
round_trips(socket.send, socket.recv, run.payload, stamps, run.count)
common.say(program="pyzmq_req", **common.round_trips(stamps, time.process_time_ns() - cpu))
socket.close()
context.term()
