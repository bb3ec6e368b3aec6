"""pyzmq_pull.py ENDPOINT SIZE COUNT [WARMUP]: as bench/c/thr_pull.c, with pyzmq."""
import sys

import common
import zmq

run = common.Run(sys.argv[1:])
context = zmq.Context()
socket = context.socket(zmq.PULL)
socket.bind(run.endpoint)
common.say(ready=socket.LAST_ENDPOINT.decode())
common.say(program="pyzmq_pull", **common.pull(socket, run))
socket.close()
context.term()
