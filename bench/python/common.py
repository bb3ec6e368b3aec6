"""What the pyzmq programs of the benchmarks share. They print what the C programs print."""
import json
import os
import sys
import time


class Run:
    """ENDPOINT SIZE COUNT [WARMUP], as every program takes them."""

    def __init__(self, arguments):
        if not 3 <= len(arguments) <= 4:
            sys.exit("usage: ENDPOINT SIZE COUNT [WARMUP=0]")
        self.endpoint = arguments[0]
        self.size, self.count = int(arguments[1]), int(arguments[2])
        self.warmup = int(arguments[3]) if len(arguments) == 4 else 0
        self.total = self.warmup + self.count
        self.payload = b"x" * self.size


def say(**fields):
    print(json.dumps(fields), flush=True)


def hold():
    """See bench_hold in bench/c/bench.h."""
    if os.environ.get("BENCH_HOLD"):
        sys.stdin.read()


def check_size(message, size):
    if len(message) != size:
        sys.exit(f"a message of {len(message)} bytes came, not of {size}")


def moved(measured, nanoseconds, cpu):
    seconds = nanoseconds / 1e9
    return {"seconds": seconds, "rate": measured / seconds, "cpu_ns": cpu / measured}


def push(socket, run):
    payload, send = run.payload, socket.send
    for _ in range(run.warmup):
        send(payload)
    cpu, start = time.process_time_ns(), time.monotonic_ns()
    for _ in range(run.count):
        send(payload)
    return moved(run.count, time.monotonic_ns() - start, time.process_time_ns() - cpu)


def pull(socket, run):
    recv = socket.recv
    before = max(run.warmup, 1)
    for _ in range(before):
        message = recv()
    cpu, start = time.process_time_ns(), time.monotonic_ns()
    for _ in range(run.total - before):
        message = recv()
    result = moved(run.total - before, time.monotonic_ns() - start, time.process_time_ns() - cpu)
    check_size(message, run.size)
    return result


def rep(socket, run):
    send, recv = socket.send, socket.recv
    for _ in range(run.total):
        request = recv()
        send(request)
    check_size(request, run.size)


def req(socket, run):
    def exchange(stamps, count):
        send, recv, payload = socket.send, socket.recv, run.payload
        for index in range(1, count + 1):
            send(payload)
            recv()
            stamps[index] = time.monotonic_ns()

    exchange([0] * (run.warmup + 1), run.warmup)
    cpu = time.process_time_ns()
    stamps = [time.monotonic_ns()] * (run.count + 1)
    exchange(stamps, run.count)
    return round_trips(stamps, time.process_time_ns() - cpu)


def percentile(ordered, percent):
    """Nearest rank, in microseconds."""
    return ordered[(len(ordered) * percent + 99) // 100 - 1] / 1e3


def round_trips(stamps, cpu):
    times = sorted(after - before for before, after in zip(stamps, stamps[1:]))
    whole = stamps[-1] - stamps[0]
    return {
        "seconds": whole / 1e9,
        "mean_us": whole / 1e3 / len(times),
        "p50_us": percentile(times, 50),
        "p99_us": percentile(times, 99),
        "cpu_ns": cpu / len(times),
    }
