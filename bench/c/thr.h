/* The two loops of a PUSH to PULL measurement; in two processes, or in two threads. */
#ifndef GODWIT_BENCH_THR_H
#define GODWIT_BENCH_THR_H

#include "bench.h"

typedef struct {
    size_t size, count, warmup;
    size_t measured; /* messages between the two readings of the clock */
    int64_t nanoseconds, cpu;
} thr_t;

static inline void thr_push(void *socket, thr_t *run)
{
    char *payload = bench_payload(run->size);
    size_t i;
    for (i = 0; i < run->warmup; i++) bench_send(socket, payload, run->size);
    int64_t cpu = bench_cpu(), start = bench_now();
    for (i = 0; i < run->count; i++) bench_send(socket, payload, run->size);
    run->nanoseconds = bench_now() - start;
    run->cpu = bench_cpu() - cpu;
    run->measured = run->count;
    free(payload);
}

/* The clock starts when the warm-up's last message is here (without a warm-up: the first
   message). */
static inline void thr_pull(void *socket, thr_t *run)
{
    size_t before = run->warmup ? run->warmup : 1, i;
    zmq_msg_t message;
    zmq_msg_init(&message);
    for (i = 0; i < before; i++) bench_recv(socket, &message);
    run->measured = run->warmup + run->count - before;
    int64_t cpu = bench_cpu(), start = bench_now();
    for (i = 0; i < run->measured; i++) bench_recv(socket, &message);
    run->nanoseconds = bench_now() - start;
    run->cpu = bench_cpu() - cpu;
    if (zmq_msg_size(&message) != run->size)
        bench_refuse("the message that came is not of the size that was asked for");
    zmq_msg_close(&message);
}

/* A high-water mark of about 64 MiB, for large messages. */
static inline void thr_limit(void *socket, int option, size_t size)
{
    size_t most = (64u << 20) / (size ? size : 1);
    int mark = most < 2 ? 2 : most > 1000 ? 1000 : (int)most;
    if (zmq_setsockopt(socket, option, &mark, sizeof mark)) bench_fail("zmq_setsockopt");
}

static inline void thr_print(const char *program, const thr_t *run)
{
    char version[32];
    double seconds = (double)run->nanoseconds / 1e9;
    bench_version(version, sizeof version);
    printf("{\"program\":\"%s\",\"libzmq\":\"%s\",\"size\":%zu,\"count\":%zu,\"warmup\":%zu,"
           "\"seconds\":%.6f,\"rate\":%.1f,\"cpu_ns\":%.1f}\n",
           program, version, run->size, run->count, run->warmup, seconds,
           seconds > 0 ? (double)run->measured / seconds : 0.0,
           run->measured ? (double)run->cpu / (double)run->measured : 0.0);
    fflush(stdout);
}

static inline thr_t thr_arguments(int argc, char **argv, const char *usage)
{
    thr_t run = {0};
    bench_arguments(argc, argv, 3, 4, usage);
    run.size = bench_integer(argv[2], 0);
    run.count = bench_integer(argv[3], 2);
    if (argc == 5) run.warmup = bench_integer(argv[4], 0);
    return run;
}

#endif
