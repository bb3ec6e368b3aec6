/* log_sub ENDPOINT COUNT: connects a SUB, says {"ready":ENDPOINT}, receives COUNT messages of any
   number of frames, or what comes until nothing came for 3 s; prints the rate after the first
   eleventh. */
#include "bench.h"

/* Gives 0 when nothing came. */
static int log_sub_message(void *sub)
{
    zmq_msg_t frame;
    int more;
    do {
        if (zmq_msg_init(&frame)) bench_fail("zmq_msg_init");
        if (zmq_msg_recv(&frame, sub, 0) < 0) {
            if (zmq_errno() == EAGAIN) return 0;
            bench_fail("zmq_msg_recv");
        }
        more = zmq_msg_more(&frame);
        zmq_msg_close(&frame);
    } while (more);
    return 1;
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv, 2, 2, "log_sub ENDPOINT COUNT");
    size_t count = bench_integer(argv[2], 11), warmup = count / 11, seen = 0;
    void *context = zmq_ctx_new();
    void *sub = bench_socket(context, ZMQ_SUB);
    int patience = -1, unlimited = 0;
    int64_t first = 0, last = 0;
    if (zmq_setsockopt(sub, ZMQ_SUBSCRIBE, "", 0) ||
        zmq_setsockopt(sub, ZMQ_RCVHWM, &unlimited, sizeof unlimited))
        bench_fail("zmq_setsockopt");
    bench_connect(sub, argv[1]);
    printf("{\"ready\":\"%s\"}\n", argv[1]);
    fflush(stdout);
    while (seen < count && log_sub_message(sub)) {
        seen++;
        if (seen == 1) {
            patience = 3000;
            if (zmq_setsockopt(sub, ZMQ_RCVTIMEO, &patience, sizeof patience))
                bench_fail("zmq_setsockopt");
        }
        if (seen == warmup) first = bench_now();
        if (seen > warmup && ((seen & 255) == 0 || seen == count)) last = bench_now();
    }
    printf("{\"program\":\"log_sub\",\"seen\":%zu,\"rate\":%.1f}\n", seen,
            (double)(seen - warmup) / ((double)(last - first) / 1e9));
    bench_end(sub, context);
    return 0;
}
