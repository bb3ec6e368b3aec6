/* together push|req ENDPOINT SIZE COUNT [WARMUP]: both ends in two pthreads of one process. The
   main thread binds a PULL, or a REP; the other one connects a PUSH, or a REQ. */
#include <pthread.h>

#include "lat.h"
#include "thr.h"

typedef struct {
    void *context, *socket;
    char endpoint[256];
    int type;
    thr_t thr; /* of a PUSH */
    lat_t lat; /* of a REQ */
} client_t;

static void *client_run(void *argument)
{
    client_t *client = argument;
    client->socket = bench_socket(client->context, client->type);
    bench_connect(client->socket, client->endpoint);
    if (client->type == ZMQ_PUSH) thr_push(client->socket, &client->thr);
    else lat_req(client->socket, &client->lat);
    return NULL;
}

int main(int argc, char **argv)
{
    const char *usage = "together push|req ENDPOINT SIZE COUNT [WARMUP=0]";
    bench_arguments(argc, argv, 4, 5, usage);
    int push = !strcmp(argv[1], "push");
    if (!push && strcmp(argv[1], "req")) bench_refuse("neither push nor req");
    client_t client = {
        .context = zmq_ctx_new(), .type = push ? ZMQ_PUSH : ZMQ_REQ,
        .thr = thr_arguments(argc - 1, argv + 1, usage),
        .lat = lat_arguments(argc - 1, argv + 1, usage)
    };
    thr_t run = client.thr;
    void *server = bench_socket(client.context, push ? ZMQ_PULL : ZMQ_REP);
    size_t length = sizeof client.endpoint;
    pthread_t thread;
    if (zmq_bind(server, argv[2])) bench_fail("zmq_bind");
    if (zmq_getsockopt(server, ZMQ_LAST_ENDPOINT, client.endpoint, &length))
        bench_fail("zmq_getsockopt");
    if (pthread_create(&thread, NULL, client_run, &client)) bench_refuse("no thread");
    if (push) thr_pull(server, &run);
    else lat_rep(server, &client.lat);
    pthread_join(thread, NULL);
    zmq_close(client.socket); /* not before the receiver has all: see bench_hold */
    if (push) thr_print("together", &run);
    else lat_print("together", &client.lat);
    bench_end(server, client.context);
    return 0;
}
