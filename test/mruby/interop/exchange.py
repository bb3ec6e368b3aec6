"""exchange.rb for pyzmq."""

import struct
import sys
import zmq

POOL = bytes((index * 7 + index // 5) % 256 for index in range(300))
MASK = 0xFFFFFFFF


def message(number):
    if number % 4 == 0:
        return [POOL[number % 200 :][: number % 21]]
    starts = [((number * 3 + part) % 200, (number // 4 + part) % 21) for part in range(number % 4 + 1)]
    return [POOL[start : start + size] for start, size in starts]


class Checksum:
    def __init__(self):
        self.text = bytearray()

    def add(self, frames):
        self.text.append(len(frames))
        for frame in frames:
            self.text.append(len(frame))
            self.text += frame

    def finish(self):
        total = 0
        for (word,) in struct.iter_unpack(">I", self.text + bytes(-len(self.text) % 4)):
            total = (total * 31 + word) & MASK
        return total


role, endpoint, count = sys.argv[1:4]
keys = [key.encode() for key in sys.argv[4:]]
socket = zmq.Context().socket(zmq.PUSH if role == "send" else zmq.PULL)
socket.sndtimeo = socket.rcvtimeo = 20_000
if keys:
    server_key, socket.curve_publickey, socket.curve_secretkey = keys
    if role == "send":
        socket.curve_serverkey = server_key
    else:
        socket.curve_server = True
checksum = Checksum()
if role == "send":
    socket.connect(endpoint)
    for number in range(int(count)):
        frames = message(number)
        socket.send_multipart(frames)
        checksum.add(frames)
else:
    socket.bind(endpoint)
    print(socket.last_endpoint.rstrip(b"\0").decode(), flush=True)
    for _ in range(int(count)):
        checksum.add(socket.recv_multipart())
print(checksum.finish(), flush=True)
