/* lat_req ENDPOINT SIZE COUNT [WARMUP]: a REQ that times COUNT round trips one by one. Peer:
   lat_rep. */
#include "lat.h"

int main(int argc, char **argv)
{
    lat_t run = lat_arguments(argc, argv,
            "lat_req ENDPOINT SIZE COUNT [WARMUP=0]   (connects; start lat_rep first)");
    void *context = zmq_ctx_new();
    void *req = bench_socket(context, ZMQ_REQ);
    bench_connect(req, argv[1]);
    lat_req(req, &run);
    lat_print("lat_req", &run);
    bench_end(req, context);
    return 0;
}
