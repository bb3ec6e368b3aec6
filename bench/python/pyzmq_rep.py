"""pyzmq_rep.py ENDPOINT SIZE COUNT [WARMUP]: as bench/c/lat_rep.c, with pyzmq."""
import sys

import common
import zmq

run = common.Run(sys.argv[1:])
context = zmq.Context()
socket = context.socket(zmq.REP)
socket.bind(run.endpoint)
common.say(ready=socket.LAST_ENDPOINT.decode())
common.rep(socket, run)
common.say(program="pyzmq_rep")
socket.close()
context.term()
