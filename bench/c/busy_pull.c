/* busy_pull ENDPOINT SIZE SECONDS HWM: receives from stamp_push for SECONDS beside a busy pthread;
   the rate, the worst gap between two messages, the worst age of one. What plain C reaches on the
   same cores: its thread shares no lock with the receiver. */
#include <pthread.h>

#include "bench.h"

static volatile int done;

static void *be_busy(void *unused)
{
    volatile unsigned long count = 0;
    (void)unused;
    while (!done) count++;
    return NULL;
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv, 4, 4,
            "busy_pull ENDPOINT SIZE SECONDS HWM   (binds; its peer is stamp_push)");
    size_t size = bench_integer(argv[2], sizeof(int64_t)), count = 0;
    int64_t duration = (int64_t)(bench_seconds(argv[3]) * 1e9), gap = 0, age = 0;
    int hwm = (int)bench_integer(argv[4], 0);
    void *context = zmq_ctx_new();
    void *pull = bench_socket(context, ZMQ_PULL);
    pthread_t thread;
    zmq_msg_t message;
    zmq_setsockopt(pull, ZMQ_RCVHWM, &hwm, sizeof hwm);
    if (pthread_create(&thread, NULL, be_busy, NULL)) bench_refuse("no thread");
    bench_bind(pull, argv[1]);
    zmq_msg_init(&message);
    bench_recv(pull, &message);

    int64_t start = bench_now(), last = start, end = start + duration;
    while (last < end) {
        int64_t stamp;
        bench_recv(pull, &message);
        int64_t now = bench_now();
        memcpy(&stamp, zmq_msg_data(&message), sizeof stamp);
        if (now - last > gap) gap = now - last;
        if (now - stamp > age) age = now - stamp;
        last = now;
        count++;
    }
    if (zmq_msg_size(&message) != size)
        bench_refuse("the message that came is not of the size that was asked for");
    printf("{\"program\":\"busy_pull\",\"count\":%zu,\"rate\":%.1f,\"gap_ms\":%.3f,"
           "\"age_ms\":%.3f}\n",
           count, (double)count * 1e9 / (double)(last - start), (double)gap / 1e6,
           (double)age / 1e6);
    fflush(stdout);
    done = 1;
    pthread_join(thread, NULL);
    zmq_msg_close(&message);
    bench_end(pull, context);
    return 0;
}
