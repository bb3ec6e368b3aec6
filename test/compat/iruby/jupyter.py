"""jupyter.py CONNECTION_FILE CODE: asks a kernel as jupyter_client does, with pyzmq. Prints the
heartbeat's echo, what the kernel publishes, and its reply; then has the kernel end."""
import hashlib
import hmac
import json
import sys
import uuid

import zmq

DEADLINE = 60_000  # milliseconds, catches a hang

config = json.load(open(sys.argv[1]))
context = zmq.Context()


def connect(kind, port):
    socket = context.socket(kind)
    socket.linger = 0
    socket.rcvtimeo = DEADLINE
    if kind == zmq.SUB:
        socket.subscribe(b"")
    socket.connect(f"{config['transport']}://{config['ip']}:{config[port]}")
    return socket


shell, iopub, heartbeat = (
    connect(zmq.DEALER, "shell_port"), connect(zmq.SUB, "iopub_port"), connect(zmq.REQ, "hb_port"))


def sign(parts):
    key = config["key"].encode()
    return hmac.new(key, b"".join(parts), hashlib.sha256).hexdigest().encode()


def ask(kind, content):
    header = {"msg_id": uuid.uuid4().hex, "session": "s", "username": "u", "msg_type": kind,
              "version": "5.0"}
    parts = [json.dumps(part).encode() for part in (header, {}, {}, content)]
    shell.send_multipart([b"<IDS|MSG>", sign(parts), *parts])


def receive(socket):
    frames = socket.recv_multipart()
    signature, *parts = frames[frames.index(b"<IDS|MSG>") + 1:]
    if not hmac.compare_digest(signature, sign(parts[:4])):
        sys.exit("the signature is wrong")
    header, _, _, content = (json.loads(part) for part in parts[:4])
    return header["msg_type"], content


heartbeat.send(b"ping")
print("heartbeat", heartbeat.recv().decode())
# A subscription takes a moment to reach the kernel: ask until something is published.
while True:
    ask("kernel_info_request", {})
    info = receive(shell)[1]
    if iopub.poll(200):
        break
print("implementation", info["implementation"])
ask("execute_request", {"code": sys.argv[2], "silent": False, "store_history": True,
                        "user_expressions": {}, "allow_stdin": False, "stop_on_error": True})
while True:
    kind, content = receive(iopub)
    if kind == "stream":
        print("stream", content["text"].strip())
    if kind == "execute_result":
        print("result", content["data"]["text/plain"])
        break
kind, content = receive(shell)
print(kind, content["status"])
ask("shutdown_request", {"restart": False})
print(receive(shell)[0])
context.destroy()
