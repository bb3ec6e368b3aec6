/* The two loops of a REQ to REP measurement; in two processes, or in two threads. */
#ifndef GODWIT_BENCH_LAT_H
#define GODWIT_BENCH_LAT_H

#include "bench.h"

typedef struct {
    size_t size, count, warmup;
    int64_t *times; /* owned: of each round trip, in nanoseconds */
    int64_t nanoseconds, cpu;
} lat_t;

static inline void lat_rep(void *rep, const lat_t *run)
{
    zmq_msg_t request;
    size_t i;
    zmq_msg_init(&request);
    for (i = 0; i < run->warmup + run->count; i++) {
        bench_recv(rep, &request);
        bench_send(rep, zmq_msg_data(&request), zmq_msg_size(&request));
    }
    if (zmq_msg_size(&request) != run->size)
        bench_refuse("the request is not of the size that was asked for");
    zmq_msg_close(&request);
}

static inline void lat_round_trip(void *req, const char *payload, size_t size, zmq_msg_t *reply)
{
    bench_send(req, payload, size);
    bench_recv(req, reply);
}

static inline void lat_req(void *req, lat_t *run)
{
    char *payload = bench_payload(run->size);
    zmq_msg_t reply;
    size_t i;
    run->times = calloc(run->count, sizeof *run->times);
    if (!run->times) bench_fail("calloc");
    zmq_msg_init(&reply);
    for (i = 0; i < run->warmup; i++) lat_round_trip(req, payload, run->size, &reply);

    int64_t cpu = bench_cpu(), start = bench_now(), last = start;
    for (i = 0; i < run->count; i++) {
        lat_round_trip(req, payload, run->size, &reply);
        int64_t now = bench_now();
        run->times[i] = now - last;
        last = now;
    }
    run->nanoseconds = last - start;
    run->cpu = bench_cpu() - cpu;
    if (zmq_msg_size(&reply) != run->size)
        bench_refuse("the reply is not of the size of the request");
    zmq_msg_close(&reply);
    free(payload);
}

static int lat_compare(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Nearest rank: the smallest time that `percent` of all do not exceed. */
static inline double lat_percentile(const int64_t *sorted, size_t count, size_t percent)
{
    return (double)sorted[(count * percent + 99) / 100 - 1] / 1000.0;
}

/* Sorts the times, prints what the run took, and frees them. */
static inline void lat_print(const char *program, lat_t *run)
{
    char version[32];
    bench_version(version, sizeof version);
    qsort(run->times, run->count, sizeof *run->times, lat_compare);
    printf("{\"program\":\"%s\",\"libzmq\":\"%s\",\"size\":%zu,\"count\":%zu,\"warmup\":%zu,"
           "\"seconds\":%.6f,\"mean_us\":%.3f,\"p50_us\":%.3f,\"p99_us\":%.3f,\"cpu_ns\":%.1f}\n",
           program, version, run->size, run->count, run->warmup, (double)run->nanoseconds / 1e9,
           (double)run->nanoseconds / 1e3 / (double)run->count,
           lat_percentile(run->times, run->count, 50), lat_percentile(run->times, run->count, 99),
           (double)run->cpu / (double)run->count);
    fflush(stdout);
    free(run->times);
}

static inline lat_t lat_arguments(int argc, char **argv, const char *usage)
{
    lat_t run = {0};
    bench_arguments(argc, argv, 3, 4, usage);
    run.size = bench_integer(argv[2], 0);
    run.count = bench_integer(argv[3], 1);
    if (argc == 5) run.warmup = bench_integer(argv[4], 0);
    return run;
}

#endif
