/* What the C programs of the benchmarks share: clocks, arguments, one way to fail, the line that
   says where we are bound. */
#ifndef GODWIT_BENCH_H
#define GODWIT_BENCH_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

static const char *bench_usage = "";

static inline int64_t bench_clock(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t bench_now(void) { return bench_clock(CLOCK_MONOTONIC); }

/* CPU time of the whole process, libzmq's own threads included. */
static inline int64_t bench_cpu(void) { return bench_clock(CLOCK_PROCESS_CPUTIME_ID); }

static inline void bench_refuse(const char *what)
{
    fprintf(stderr, "%s\nusage: %s\n", what, bench_usage);
    exit(2);
}

static inline void bench_fail(const char *operation)
{
    int code = zmq_errno();
    fprintf(stderr, "%s: %s\n", operation, zmq_strerror(code));
    exit(1);
}

static inline void bench_arguments(int argc, char **argv, int least, int most, const char *usage)
{
    bench_usage = usage;
    if (argc == 2 && (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
        printf("usage: %s\n", usage);
        exit(0);
    }
    if (argc - 1 < least || argc - 1 > most) bench_refuse("wrong number of arguments");
}

static inline size_t bench_integer(const char *text, size_t least)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || end == text || *end || text[0] == '-' || value < least)
        bench_refuse("not a fitting number");
    return value;
}

static inline double bench_seconds(const char *text)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value > 0)) bench_refuse("not a fitting number of seconds");
    return value;
}

static inline void *bench_socket(void *context, int type)
{
    void *socket = zmq_socket(context, type);
    if (!socket) bench_fail("zmq_socket");
    return socket;
}

static inline void bench_connect(void *socket, const char *endpoint)
{
    if (zmq_connect(socket, endpoint)) bench_fail("zmq_connect");
}

/* Binds and says where, so that the one who started us can tell the peer (`*` takes any free
   port). */
static inline void bench_bind(void *socket, const char *endpoint)
{
    char bound[256];
    size_t length = sizeof bound;
    if (zmq_bind(socket, endpoint)) bench_fail("zmq_bind");
    if (zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, bound, &length)) bench_fail("zmq_getsockopt");
    printf("{\"ready\":\"%s\"}\n", bound);
    fflush(stdout);
}

static inline void bench_end(void *socket, void *context)
{
    if (zmq_close(socket)) bench_fail("zmq_close");
    if (zmq_ctx_term(context)) bench_fail("zmq_ctx_term");
}

/* With BENCH_HOLD set, a sender stays until its standard input ends. Over ipc libzmq drops what is
   in flight when the sender goes while the receiver is at its high-water mark (zeromq/libzmq#4660),
   so it must not go before the receiver has all. */
static inline void bench_hold(void)
{
    if (getenv("BENCH_HOLD")) while (getchar() != EOF);
}

static inline char *bench_payload(size_t size)
{
    char *payload = malloc(size ? size : 1);
    if (!payload) bench_fail("malloc");
    memset(payload, 'x', size);
    return payload;
}

/* The plain send of libzmq: a message of its own, a copy, a blocking call. */
static inline void bench_send(void *socket, const void *payload, size_t size)
{
    zmq_msg_t message;
    if (zmq_msg_init_size(&message, size)) bench_fail("zmq_msg_init_size");
    memcpy(zmq_msg_data(&message), payload, size);
    if (zmq_msg_send(&message, socket, 0) < 0) bench_fail("zmq_msg_send");
}

static inline void bench_recv(void *socket, zmq_msg_t *message)
{
    if (zmq_msg_recv(message, socket, 0) < 0) bench_fail("zmq_msg_recv");
}

static inline void bench_version(char *text, size_t size)
{
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    snprintf(text, size, "%d.%d.%d", major, minor, patch);
}

#endif
