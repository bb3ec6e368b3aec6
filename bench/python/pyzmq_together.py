"""pyzmq_together.py push|req ENDPOINT SIZE COUNT [WARMUP]: as bench/c/together.c, with pyzmq and
two Python threads."""
import sys
import threading

import common
import zmq

pattern = sys.argv[1]
run = common.Run(sys.argv[2:])
context = zmq.Context()
server = context.socket({"push": zmq.PULL, "req": zmq.REP}[pattern])
server.bind(run.endpoint)
socket = context.socket({"push": zmq.PUSH, "req": zmq.REQ}[pattern])
result = {}


def client():
    socket.connect(server.LAST_ENDPOINT)
    if pattern == "push":
        common.push(socket, run)
    else:
        result.update(common.req(socket, run))


thread = threading.Thread(target=client)
thread.start()
if pattern == "push":
    result = common.pull(server, run)
else:
    common.rep(server, run)
thread.join()
common.say(program="pyzmq_together", **result)
socket.close()
server.close()
context.term()
