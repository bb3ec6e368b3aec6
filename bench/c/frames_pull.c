/* frames_pull ENDPOINT SIZE COUNT [WARMUP]: as thr_pull, with a high-water mark for large messages.
   libzmq's receive copies nothing. */
#include "thr.h"

int main(int argc, char **argv)
{
    thr_t run = thr_arguments(argc, argv,
            "frames_pull ENDPOINT SIZE COUNT [WARMUP=0]"
            "   (binds; tcp://127.0.0.1:* takes a free port)");
    void *context = zmq_ctx_new();
    void *pull = bench_socket(context, ZMQ_PULL);
    thr_limit(pull, ZMQ_RCVHWM, run.size);
    bench_bind(pull, argv[1]);
    thr_pull(pull, &run);
    thr_print("frames_pull", &run);
    bench_end(pull, context);
    return 0;
}
