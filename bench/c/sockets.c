/* sockets idle COUNT: bytes of resident memory that each of COUNT idle sockets takes.
 * sockets closed COUNT: resident memory before COUNT sockets were opened, connected and closed,
 * afterwards, and after malloc_trim.
 * sockets churn ENDPOINT COUNT: binds a PULL, then COUNT times makes a PUSH, connects, sends one
 * message and closes; cycles a second. */
#include <malloc.h>

#include "bench.h"

enum { MAX = 15000 }; /* sockets; those that are closed take a while to go */

static long resident(void)
{
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &pages) != 2) bench_refuse("no /proc/self/statm");
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static void idle(size_t count)
{
    void *context = zmq_ctx_new();
    void **sockets = calloc(count, sizeof *sockets);
    if (!sockets) bench_fail("calloc");
    memset(sockets, 1, count * sizeof *sockets);
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, (int)count + 10);
    /* libzmq's threads, malloc's first arenas */
    for (size_t i = 0; i < 10; i++) zmq_close(bench_socket(context, ZMQ_DEALER));
    long before = resident();
    for (size_t i = 0; i < count; i++) sockets[i] = bench_socket(context, ZMQ_DEALER);
    printf("{\"bytes\":%.1f}\n", (double)(resident() - before) / (double)count);
    for (size_t i = 0; i < count; i++) zmq_close(sockets[i]);
    zmq_ctx_term(context);
    free(sockets);
}

static void open_and_close(void *context, size_t count)
{
    int none = 0;
    for (size_t i = 0; i < count;) {
        void *socket = zmq_socket(context, ZMQ_DEALER);
        if (!socket && errno == EMFILE) {
            usleep(1000); /* libzmq has not yet let go of enough of those that were closed */
            continue;
        }
        if (!socket) bench_fail("zmq_socket");
        zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof none);
        bench_connect(socket, "tcp://127.0.0.1:1");
        zmq_close(socket);
        i++;
    }
}

static void closed(size_t count)
{
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, 3069); /* as godwit's default context */
    open_and_close(context, 500);
    sleep(1);
    malloc_trim(0);
    long before = resident();
    open_and_close(context, count);
    long after = resident();
    sleep(1); /* libzmq's reaper */
    malloc_trim(0);
    printf("{\"before\":%ld,\"after\":%ld,\"trimmed\":%ld}\n", before, after, resident());
    zmq_ctx_term(context);
}

static void churn(const char *endpoint, size_t count)
{
    char bound[256];
    size_t length = sizeof bound;
    void *context = zmq_ctx_new();
    zmq_ctx_set(context, ZMQ_MAX_SOCKETS, MAX);
    void *pull = bench_socket(context, ZMQ_PULL);
    zmq_msg_t message;
    zmq_msg_init(&message);
    if (zmq_bind(pull, endpoint) || zmq_getsockopt(pull, ZMQ_LAST_ENDPOINT, bound, &length))
        bench_fail("zmq_bind");
    int64_t start = bench_now();
    for (size_t i = 0; i < count; i++) {
        void *push = bench_socket(context, ZMQ_PUSH);
        bench_connect(push, bound);
        bench_send(push, "x", 1);
        zmq_close(push);
        bench_recv(pull, &message);
    }
    printf("{\"rate\":%.1f}\n", (double)count / ((double)(bench_now() - start) / 1e9));
    zmq_msg_close(&message);
    bench_end(pull, context);
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv, 2, 3,
            "sockets idle COUNT | sockets closed COUNT | sockets churn ENDPOINT COUNT");
    if (!strcmp(argv[1], "idle") && argc == 3) idle(bench_integer(argv[2], 1));
    else if (!strcmp(argv[1], "closed") && argc == 3) closed(bench_integer(argv[2], 1));
    else if (!strcmp(argv[1], "churn") && argc == 4) churn(argv[2], bench_integer(argv[3], 1));
    else bench_refuse("idle, closed or churn");
    return 0;
}
