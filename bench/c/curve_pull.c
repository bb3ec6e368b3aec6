/* curve_pull ENDPOINT SIZE COUNT [WARMUP]: as thr_pull, as the server of CURVE. */
#include "curve.h"

int main(int argc, char **argv)
{
    thr_t run = thr_arguments(argc, argv,
            "curve_pull ENDPOINT SIZE COUNT [WARMUP=0]"
            "   (binds; tcp://127.0.0.1:* takes a free port)");
    void *context = zmq_ctx_new();
    void *pull = bench_socket(context, ZMQ_PULL);
    curve_server(pull);
    bench_bind(pull, argv[1]);
    thr_pull(pull, &run);
    thr_print("curve_pull", &run);
    bench_end(pull, context);
    return 0;
}
