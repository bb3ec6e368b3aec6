/* lat_rep ENDPOINT SIZE COUNT [WARMUP]: a REP that says {"ready":ENDPOINT}, sends WARMUP + COUNT
   requests back as they came, and ends. */
#include "bench.h"

int main(int argc, char **argv)
{
    bench_arguments(argc, argv, 3, 4,
            "lat_rep ENDPOINT SIZE COUNT [WARMUP=0]"
            "   (binds; tcp://127.0.0.1:* takes a free port)");
    size_t size = bench_integer(argv[2], 0), count = bench_integer(argv[3], 1), i;
    size_t warmup = argc == 5 ? bench_integer(argv[4], 0) : 0;
    void *context = zmq_ctx_new();
    void *rep = bench_socket(context, ZMQ_REP);
    zmq_msg_t request;
    bench_bind(rep, argv[1]);
    zmq_msg_init(&request);
    for (i = 0; i < warmup + count; i++) {
        bench_recv(rep, &request);
        bench_send(rep, zmq_msg_data(&request), zmq_msg_size(&request));
    }
    if (zmq_msg_size(&request) != size)
        bench_refuse("the request is not of the size that was asked for");
    zmq_msg_close(&request);
    printf("{\"program\":\"lat_rep\",\"size\":%zu,\"count\":%zu,\"warmup\":%zu}\n", size, count,
            warmup);
    fflush(stdout);
    bench_end(rep, context);
    return 0;
}
