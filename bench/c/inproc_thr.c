/* inproc_thr ENDPOINT SIZE COUNT [WARMUP]: PUSH to PULL between two pthreads of one process. */
#include <pthread.h>

#include "thr.h"

typedef struct {
    void *context;
    const char *endpoint;
    thr_t run;
} sender_t;

static void *send_all(void *argument)
{
    sender_t *sender = argument;
    void *push = bench_socket(sender->context, ZMQ_PUSH);
    bench_connect(push, sender->endpoint);
    thr_push(push, &sender->run);
    zmq_close(push);
    return NULL;
}

int main(int argc, char **argv)
{
    thr_t run = thr_arguments(argc, argv,
            "inproc_thr ENDPOINT SIZE COUNT [WARMUP=0]   (ENDPOINT such as inproc://bench)");
    sender_t sender = {zmq_ctx_new(), argv[1], run};
    void *pull = bench_socket(sender.context, ZMQ_PULL);
    pthread_t thread;
    if (zmq_bind(pull, argv[1])) bench_fail("zmq_bind");
    if (pthread_create(&thread, NULL, send_all, &sender)) bench_refuse("no thread");
    thr_pull(pull, &run);
    pthread_join(thread, NULL);
    thr_print("inproc_thr", &run);
    bench_end(pull, sender.context);
    return 0;
}
