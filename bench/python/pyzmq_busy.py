"""pyzmq_busy.py ENDPOINT SIZE SECONDS HWM: as bench/c/busy_pull.c, with pyzmq
beside a busy Python thread."""
import struct
import sys
import threading
import time

import common
import zmq

if len(sys.argv) != 5:
    sys.exit("usage: pyzmq_busy.py ENDPOINT SIZE SECONDS HWM")
endpoint, size, seconds, hwm = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])


def be_busy():
    count = 0
    while True:
        count += 1


context = zmq.Context()
socket = context.socket(zmq.PULL)
socket.rcvhwm = hwm
socket.bind(endpoint)
threading.Thread(target=be_busy, daemon=True).start()
common.say(ready=socket.LAST_ENDPOINT.decode())
recv, stamp_of = socket.recv, struct.Struct("q").unpack_from
recv()
count = gap = age = 0
start = last = time.monotonic_ns()
finish = start + int(seconds * 1e9)
while last < finish:
    message = recv()
    now = time.monotonic_ns()
    gap = max(gap, now - last)
    age = max(age, now - stamp_of(message)[0])
    last = now
    count += 1
common.check_size(message, size)
common.say(program="pyzmq_busy", count=count, rate=count * 1e9 / (last - start), gap_ms=gap / 1e6,
           age_ms=age / 1e6)
socket.close()
context.term()
