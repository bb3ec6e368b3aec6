/* curve_push ENDPOINT SIZE COUNT [WARMUP]: as thr_push, as a client of CURVE. Peer: curve_pull. */
#include "curve.h"

int main(int argc, char **argv)
{
    thr_t run = thr_arguments(argc, argv,
            "curve_push ENDPOINT SIZE COUNT [WARMUP=0]   (connects; start curve_pull first)");
    void *context = zmq_ctx_new();
    void *push = bench_socket(context, ZMQ_PUSH);
    curve_client(push);
    bench_connect(push, argv[1]);
    thr_push(push, &run);
    thr_print("curve_push", &run);
    bench_hold();
    bench_end(push, context);
    return 0;
}
