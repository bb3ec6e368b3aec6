/* thr_pull ENDPOINT SIZE COUNT [WARMUP]: binds a PULL, says {"ready":ENDPOINT}, receives WARMUP +
   COUNT messages, prints the rate of the COUNT. */
#include "thr.h"

int main(int argc, char **argv)
{
    thr_t run = thr_arguments(argc, argv,
            "thr_pull ENDPOINT SIZE COUNT [WARMUP=0]"
            "   (binds; tcp://127.0.0.1:* takes a free port)");
    void *context = zmq_ctx_new();
    void *pull = bench_socket(context, ZMQ_PULL);
    bench_bind(pull, argv[1]);
    thr_pull(pull, &run);
    thr_print("thr_pull", &run);
    bench_end(pull, context);
    return 0;
}
