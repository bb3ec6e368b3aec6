/* lat_rep ENDPOINT SIZE COUNT [WARMUP]: a REP that says {"ready":ENDPOINT}, sends WARMUP + COUNT
   requests back as they came, and ends. */
#include "lat.h"

int main(int argc, char **argv)
{
    lat_t run = lat_arguments(argc, argv,
            "lat_rep ENDPOINT SIZE COUNT [WARMUP=0]"
            "   (binds; tcp://127.0.0.1:* takes a free port)");
    void *context = zmq_ctx_new();
    void *rep = bench_socket(context, ZMQ_REP);
    bench_bind(rep, argv[1]);
    lat_rep(rep, &run);
    printf("{\"program\":\"lat_rep\",\"size\":%zu,\"count\":%zu,\"warmup\":%zu}\n", run.size,
            run.count, run.warmup);
    fflush(stdout);
    bench_end(rep, context);
    return 0;
}
