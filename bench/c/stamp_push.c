/* stamp_push ENDPOINT SIZE SECONDS HWM: sends as fast as it goes; each message begins with the
   monotonic clock in nanoseconds (8 bytes, this machine's byte order). The receiver decides when it
   has seen enough: we give up when SECONDS are over or nobody takes a message for one. */
#include "bench.h"

int main(int argc, char **argv)
{
    bench_arguments(argc, argv, 4, 4,
            "stamp_push ENDPOINT SIZE SECONDS HWM"
            "   (connects; start a receiver such as busy_pull first)");
    size_t size = bench_integer(argv[2], sizeof(int64_t)), sent = 0;
    int64_t seconds = (int64_t)(bench_seconds(argv[3]) * 1e9);
    int hwm = (int)bench_integer(argv[4], 0), wait = 1000, linger = 0;
    char *payload = bench_payload(size);
    void *context = zmq_ctx_new();
    void *push = bench_socket(context, ZMQ_PUSH);
    zmq_setsockopt(push, ZMQ_SNDHWM, &hwm, sizeof hwm);
    zmq_setsockopt(push, ZMQ_SNDTIMEO, &wait, sizeof wait);
    zmq_setsockopt(push, ZMQ_LINGER, &linger, sizeof linger);
    bench_connect(push, argv[1]);

    int64_t end = bench_now() + seconds;
    for (;;) {
        int64_t now = bench_now();
        zmq_msg_t message;
        if (now >= end) break;
        memcpy(payload, &now, sizeof now);
        if (zmq_msg_init_size(&message, size)) bench_fail("zmq_msg_init_size");
        memcpy(zmq_msg_data(&message), payload, size);
        if (zmq_msg_send(&message, push, 0) < 0) {
            if (zmq_errno() != EAGAIN) bench_fail("zmq_msg_send");
            zmq_msg_close(&message);
            break;
        }
        sent++;
    }
    printf("{\"program\":\"stamp_push\",\"count\":%zu}\n", sent);
    bench_end(push, context);
    free(payload);
    return 0;
}
