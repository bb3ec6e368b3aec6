/* queue_pull ENDPOINT SIZE COUNT [WARMUP]: as thr_pull, but a DEALER behind a queue: each message
   has the sender's routing id in front. */
#include "thr.h"

static void receive(void *dealer, zmq_msg_t *message)
{
    do bench_recv(dealer, message); while (zmq_msg_more(message));
}

int main(int argc, char **argv)
{
    thr_t run = thr_arguments(argc, argv, "queue_pull ENDPOINT SIZE COUNT [WARMUP=0]   (binds)");
    size_t before = run.warmup ? run.warmup : 1, i;
    void *context = zmq_ctx_new();
    void *dealer = bench_socket(context, ZMQ_DEALER);
    zmq_msg_t message;
    zmq_msg_init(&message);
    bench_bind(dealer, argv[1]);
    for (i = 0; i < before; i++) receive(dealer, &message);
    run.measured = run.warmup + run.count - before;
    int64_t cpu = bench_cpu(), start = bench_now();
    for (i = 0; i < run.measured; i++) receive(dealer, &message);
    run.nanoseconds = bench_now() - start;
    run.cpu = bench_cpu() - cpu;
    if (zmq_msg_size(&message) != run.size)
        bench_refuse("the message that came is not of the size that was asked for");
    zmq_msg_close(&message);
    thr_print("queue_pull", &run);
    bench_end(dealer, context);
    return 0;
}
