/* lat_req ENDPOINT SIZE COUNT [WARMUP]: a REQ that times COUNT round trips one by one. Peer:
   lat_rep. */
#include "bench.h"

static int compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank: the smallest time that `percent` of all do not exceed. */
static double percentile(const int64_t *sorted, size_t count, size_t percent)
{
    return (double)sorted[(count * percent + 99) / 100 - 1] / 1000.0;
}

static void round_trip(void *req, const char *payload, size_t size, zmq_msg_t *reply)
{
    bench_send(req, payload, size);
    bench_recv(req, reply);
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv, 3, 4,
            "lat_req ENDPOINT SIZE COUNT [WARMUP=0]   (connects; start lat_rep first)");
    size_t size = bench_integer(argv[2], 0), count = bench_integer(argv[3], 1), i;
    size_t warmup = argc == 5 ? bench_integer(argv[4], 0) : 0;
    int64_t *times = calloc(count, sizeof *times);
    char *payload = bench_payload(size), version[32];
    void *context = zmq_ctx_new();
    void *req = bench_socket(context, ZMQ_REQ);
    zmq_msg_t reply;
    if (!times) bench_fail("calloc");
    bench_connect(req, argv[1]);
    zmq_msg_init(&reply);
    for (i = 0; i < warmup; i++) round_trip(req, payload, size, &reply);

    int64_t cpu = bench_cpu(), start = bench_now(), last = start;
    for (i = 0; i < count; i++) {
        round_trip(req, payload, size, &reply);
        int64_t now = bench_now();
        times[i] = now - last;
        last = now;
    }
    cpu = bench_cpu() - cpu;
    if (zmq_msg_size(&reply) != size) bench_refuse("the reply is not of the size of the request");
    zmq_msg_close(&reply);

    qsort(times, count, sizeof *times, compare);
    bench_version(version, sizeof version);
    printf("{\"program\":\"lat_req\",\"libzmq\":\"%s\",\"size\":%zu,\"count\":%zu,\"warmup\":%zu,"
           "\"seconds\":%.6f,\"mean_us\":%.3f,\"p50_us\":%.3f,\"p99_us\":%.3f,\"cpu_ns\":%.1f}\n",
           version, size, count, warmup, (double)(last - start) / 1e9,
           (double)(last - start) / 1e3 / (double)count,
           percentile(times, count, 50), percentile(times, count, 99), (double)cpu / (double)count);
    fflush(stdout);
    bench_end(req, context);
    free(payload);
    free(times);
    return 0;
}
