/* thr_push ENDPOINT SIZE COUNT [WARMUP]: connects a PUSH and sends WARMUP + COUNT messages, as
   plain C does. Peer: thr_pull. */
#include "thr.h"

int main(int argc, char **argv)
{
    thr_t run = thr_arguments(argc, argv,
            "thr_push ENDPOINT SIZE COUNT [WARMUP=0]   (connects; start thr_pull first)");
    void *context = zmq_ctx_new();
    void *push = bench_socket(context, ZMQ_PUSH);
    bench_connect(push, argv[1]);
    thr_push(push, &run);
    thr_print("thr_push", &run);
    bench_hold();
    bench_end(push, context);
    return 0;
}
