/* frames_push ENDPOINT SIZE COUNT WARMUP copied|in-place: connects a PUSH and sends WARMUP + COUNT
   messages, each with a copy of the payload, or with the payload itself (zmq_msg_init_data).
   Peer: frames_pull. */
#include "thr.h"

static void let_go(void *data, void *hint)
{
    (void)data;
    (void)hint;
}

static void send_in_place(void *socket, char *payload, size_t size, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        zmq_msg_t message;
        if (zmq_msg_init_data(&message, payload, size, let_go, NULL))
            bench_fail("zmq_msg_init_data");
        if (zmq_msg_send(&message, socket, 0) < 0) bench_fail("zmq_msg_send");
    }
}

int main(int argc, char **argv)
{
    int in_place = argc == 6 && strcmp(argv[5], "in-place") == 0;
    thr_t run = thr_arguments(argc - 1, argv,
            "frames_push ENDPOINT SIZE COUNT WARMUP copied|in-place"
            "   (connects; start frames_pull first)");
    void *context = zmq_ctx_new();
    void *push = bench_socket(context, ZMQ_PUSH);
    thr_limit(push, ZMQ_SNDHWM, run.size);
    bench_connect(push, argv[1]);
    char *payload = bench_payload(run.size);
    if (in_place) {
        send_in_place(push, payload, run.size, run.warmup);
        int64_t cpu = bench_cpu(), start = bench_now();
        send_in_place(push, payload, run.size, run.count);
        run.nanoseconds = bench_now() - start;
        run.cpu = bench_cpu() - cpu;
        run.measured = run.count;
    }
    else {
        thr_push(push, &run);
    }
    thr_print("frames_push", &run);
    bench_hold();
    bench_end(push, context); /* libzmq reads the payload until here */
    free(payload);
    return 0;
}
