"""A pyzmq peer, steered by the interop tests: one JSON command a line on standard input, one JSON answer a line on standard output.

The answer is {"value": …} or {"error": …}. Bytes travel in base64. The process ends with its standard input.
"""
import base64
import json
import sys

import zmq
import zmq.auth
from zmq.auth.thread import ThreadAuthenticator
from zmq.utils import z85

DEADLINE = 5000  # ms, for whatever waits


def pack(data):
    return base64.b64encode(data).decode()


def unpack(text):
    return base64.b64decode(text)


class Peer:
    """One method a command."""

    def __init__(self):
        self.context = zmq.Context()
        self.sockets = []
        self.authenticator = None

    def open(self, type, options):
        socket = self.context.socket(getattr(zmq, type))
        socket.linger = 0
        socket.rcvtimeo = socket.sndtimeo = DEADLINE
        self.sockets.append(socket)
        for name, value in options.items():
            socket.setsockopt(getattr(zmq, name), value.encode() if isinstance(value, str) else int(value))
        return len(self.sockets) - 1

    def bind(self, on, endpoint):
        self.sockets[on].bind(endpoint)
        return self.sockets[on].last_endpoint.decode().rstrip("\0")

    def connect(self, on, endpoint):
        self.sockets[on].connect(endpoint)

    def set(self, on, name, value):
        self.sockets[on].setsockopt(getattr(zmq, name), value.encode() if isinstance(value, str) else int(value))

    def send(self, on, frames):
        self.sockets[on].send_multipart([unpack(frame) for frame in frames])

    def recv(self, on, timeout):
        if not self.sockets[on].poll(timeout):
            return None
        return [pack(frame) for frame in self.sockets[on].recv_multipart()]

    def send_json(self, on, value, before):
        for frame in before:
            self.sockets[on].send_string(frame, zmq.SNDMORE)
        self.sockets[on].send_json(value)

    def recv_json(self, on, before):
        """The frames before the value, then the value."""
        return [self.sockets[on].recv_string() for _ in range(before)] + [self.sockets[on].recv_json()]

    def user_id(self, on):
        """Receives a message and tells who the authenticator said had sent it."""
        return self.sockets[on].recv(copy=False).get("User-Id")

    def keypair(self):
        return [key.decode() for key in zmq.curve_keypair()]

    def curve_public(self, secret):
        return zmq.curve_public(secret.encode()).decode()

    def z85(self, data):
        return z85.encode(unpack(data)).decode()

    def create_certificates(self, dir, name, metadata):
        return [str(path) for path in zmq.auth.create_certificates(dir, name, metadata)]

    def load_certificate(self, path):
        return [key and key.decode() for key in zmq.auth.load_certificate(path)]

    def authenticate(self, location):
        """Starts pyzmq's own ZAP handler, with the certificates of a directory."""
        self.authenticator = ThreadAuthenticator(self.context)
        self.authenticator.start()
        self.authenticator.configure_curve(domain="*", location=location)

    def reset(self):
        """For the next test: what this one opened is closed."""
        self.end()
        self.__init__()

    def end(self):
        if self.authenticator:
            self.authenticator.stop()
        self.context.destroy(linger=0)


def answer(peer, line):
    command = json.loads(line)
    try:
        return {"value": getattr(peer, command.pop("do"))(**command)}
    except zmq.ZMQError as error:
        return {"error": f"{zmq.Errno(error.errno).name}: {error}"}


def main():
    peer = Peer()
    print(json.dumps({"value": None}), flush=True)  # it has begun
    for line in sys.stdin:
        print(json.dumps(answer(peer, line)), flush=True)
    peer.end()


main()
