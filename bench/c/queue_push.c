/* queue_push ENDPOINT SIZE COUNT [WARMUP]: as thr_push, but a DEALER, for the front end of a queue.
   Peer: queue_pull behind a proxy. */
#include "thr.h"

int main(int argc, char **argv)
{
    thr_t run = thr_arguments(argc, argv, "queue_push ENDPOINT SIZE COUNT [WARMUP=0]   (connects)");
    void *context = zmq_ctx_new();
    void *dealer = bench_socket(context, ZMQ_DEALER);
    bench_connect(dealer, argv[1]);
    thr_push(dealer, &run);
    thr_print("queue_push", &run);
    bench_hold();
    bench_end(dealer, context);
    return 0;
}
