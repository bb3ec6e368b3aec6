"""pyzmq_push.py ENDPOINT SIZE COUNT [WARMUP]: as bench/c/thr_push.c, with pyzmq."""
import sys

import common
import zmq

run = common.Run(sys.argv[1:])
context = zmq.Context()
socket = context.socket(zmq.PUSH)
socket.connect(run.endpoint)
common.say(program="pyzmq_push", **common.push(socket, run))
common.hold()
socket.close()
context.term()
