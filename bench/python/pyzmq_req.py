"""pyzmq_req.py ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_req.c, with pyzmq."""
import sys

import common
import zmq

run = common.Run(sys.argv[1:])
context = zmq.Context()
socket = context.socket(zmq.REQ)
socket.connect(run.endpoint)
common.say(program="pyzmq_req", **common.req(socket, run))
socket.close()
context.term()
