/* proxy streamer|queue BACK FRONT: libzmq's own zmq_proxy. Connects PUSH (DEALER) to BACK, binds
   PULL (ROUTER) at FRONT, says {"ready":FRONT}, runs until it is killed. */
#include "bench.h"

int main(int argc, char **argv)
{
    bench_arguments(argc, argv, 3, 3,
            "proxy streamer|queue BACK FRONT   (start the receiver at BACK first)");
    int queue = !strcmp(argv[1], "queue");
    void *context = zmq_ctx_new();
    void *front = bench_socket(context, queue ? ZMQ_ROUTER : ZMQ_PULL);
    void *back = bench_socket(context, queue ? ZMQ_DEALER : ZMQ_PUSH);
    bench_connect(back, argv[2]);
    bench_bind(front, argv[3]);
    zmq_proxy(front, back, NULL);
    bench_fail("zmq_proxy");
}
