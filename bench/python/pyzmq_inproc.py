"""pyzmq_inproc.py ENDPOINT SIZE COUNT [WARMUP]: as bench/c/inproc_thr.c, with pyzmq and two
Python threads."""
import sys
import threading

import common
import zmq

run = common.Run(sys.argv[1:])
context = zmq.Context()
socket = context.socket(zmq.PULL)
socket.bind(run.endpoint)


def send_all():
    push = context.socket(zmq.PUSH)
    push.connect(run.endpoint)
    common.push(push, run)
    push.close()


sender = threading.Thread(target=send_all)
sender.start()
common.say(program="pyzmq_inproc", **common.pull(socket, run))
sender.join()
socket.close()
context.term()
