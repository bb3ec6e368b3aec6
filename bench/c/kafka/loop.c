/* What C alone does with librdkafka, for bench/work_kafka.rb.
     batch: consumes COUNT records by rd_kafka_consume_batch_queue, and reads a byte of each
     poll: consumes them by rd_kafka_consumer_poll; each value says when its record was due
     produce: writes COUNT records of 100 bytes, 1,000 at a time, and waits for each thousand */
#include <dlfcn.h>
#include <librdkafka/rdkafka.h>
#include <stdbool.h>
#include "../bench.h"

enum { CALL = 1000, SIZE = 100, WAIT = 1000 };

#define FUNCTIONS(F) \
    F(conf_new) F(conf_set) F(conf_set_dr_msg_cb) F(new) F(destroy) F(poll) F(poll_set_consumer) \
    F(topic_partition_list_new) F(topic_partition_list_add) F(topic_partition_list_destroy) \
    F(subscribe) F(assignment) F(queue_get_consumer) F(consume_batch_queue) F(consumer_poll) \
    F(consumer_close) F(message_destroy) F(topic_new) F(topic_destroy) F(produce) F(commit)
#define DECLARE(name) static __typeof__(rd_kafka_##name) *k_##name;
FUNCTIONS(DECLARE)

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* The file that Godwit loads, too. */
static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) fail(dlerror());
#define LOAD(name) \
    if (!(*(void **)&k_##name = dlsym(library, "rd_kafka_" #name))) fail("no rd_kafka_" #name);
    FUNCTIONS(LOAD)
}

static rd_kafka_t *make(rd_kafka_type_t type, rd_kafka_conf_t *settings, const char **pairs)
{
    char error[512];
    for (; *pairs; pairs += 2) {
        if (k_conf_set(settings, pairs[0], pairs[1], error, sizeof error) != RD_KAFKA_CONF_OK)
            fail(error);
    }
    rd_kafka_t *made = k_new(type, settings, error, sizeof error);
    if (!made) fail(error);
    return made;
}

static rd_kafka_t *consumer(const char *address, const char *topic)
{
    char group[64];
    snprintf(group, sizeof group, "c-%d", (int)getpid());
    const char *pairs[] = {
        "bootstrap.servers", address, "group.id", group, "auto.offset.reset", "earliest",
        "fetch.queue.backoff.ms", "2", "enable.auto.commit", "false", NULL
    };
    rd_kafka_t *made = make(RD_KAFKA_CONSUMER, k_conf_new(), pairs);
    rd_kafka_topic_partition_list_t *topics = k_topic_partition_list_new(1);
    k_poll_set_consumer(made);
    k_topic_partition_list_add(topics, topic, RD_KAFKA_PARTITION_UA);
    if (k_subscribe(made, topics)) fail("rd_kafka_subscribe");
    k_topic_partition_list_destroy(topics);
    return made;
}

static void finish(rd_kafka_t *made)
{
    k_consumer_close(made);
    k_destroy(made);
}

static void batch(const char *address, const char *topic, size_t count)
{
    static rd_kafka_message_t *found[CALL];
    rd_kafka_t *made = consumer(address, topic);
    rd_kafka_queue_t *queue = k_queue_get_consumer(made);
    size_t seen = 0;
    int64_t first = 0;
    volatile char touched = 0;
    while (seen < count) {
        ssize_t got = k_consume_batch_queue(queue, WAIT, found, CALL);
        for (ssize_t i = 0; i < got; i++) {
            if (found[i]->err) fail("an error came in place of a record");
            if (!first) first = bench_now();
            touched ^= *(char *)found[i]->payload;
            k_message_destroy(found[i]);
        }
        if (got > 0) seen += (size_t)got;
    }
    int64_t last = bench_now();
    if (k_commit(made, NULL, 0)) fail("rd_kafka_commit");
    printf("{\"rate\":%f}\n", (double)(seen - 1) * 1e9 / (double)(last - first));
    fflush(stdout);
    finish(made);
}

static int later(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static bool assigned(rd_kafka_t *made)
{
    rd_kafka_topic_partition_list_t *found;
    if (k_assignment(made, &found)) fail("rd_kafka_assignment");
    bool any = found->cnt > 0;
    k_topic_partition_list_destroy(found);
    return any;
}

static void latency(const char *address, const char *topic, size_t count)
{
    int64_t *times = malloc(count * sizeof *times);
    rd_kafka_t *made = consumer(address, topic);
    if (!times) fail("malloc");
    while (!assigned(made)) {
        if (k_consumer_poll(made, 100)) fail("something came too early");
    }
    printf("{\"ready\":\"%s\"}\n", topic);
    fflush(stdout);
    for (size_t seen = 0; seen < count;) {
        rd_kafka_message_t *one = k_consumer_poll(made, WAIT);
        if (!one) continue;
        if (one->err) fail("an error came in place of a record");
        times[seen++] = bench_now() - strtoll(one->payload, NULL, 10);
        k_message_destroy(one);
    }
    size_t warm = count / 10, rest = count - warm;
    qsort(times + warm, rest, sizeof *times, later);
    printf("{\"p50_ms\":%f,\"p99_ms\":%f}\n", (double)times[warm + rest * 50 / 100] / 1e6,
        (double)times[warm + rest * 99 / 100] / 1e6);
    fflush(stdout);
    finish(made);
}

static size_t left;

static void delivered(rd_kafka_t *made, const rd_kafka_message_t *message, void *opaque)
{
    (void)made, (void)opaque;
    if (message->err) fail("a record was not delivered");
    left--;
}

static void produce(const char *address, const char *topic, size_t count)
{
    const char *pairs[] = {
        "bootstrap.servers", address, "enable.idempotence", "true", "linger.ms", "0", NULL
    };
    rd_kafka_conf_t *settings = k_conf_new();
    k_conf_set_dr_msg_cb(settings, delivered);
    rd_kafka_t *made = make(RD_KAFKA_PRODUCER, settings, pairs);
    rd_kafka_topic_t *to = k_topic_new(made, topic, NULL);
    char value[SIZE];
    memset(value, 'v', SIZE);
    int64_t start = 0;
    /* The first call connects. */
    for (size_t calls = 0; calls <= count / CALL; calls++) {
        if (calls == 1) start = bench_now();
        for (left = 0; left < CALL; left++) {
            if (k_produce(to, 0, RD_KAFKA_MSG_F_COPY, value, SIZE, NULL, 0, NULL))
                fail("rd_kafka_produce");
        }
        while (left) k_poll(made, WAIT);
    }
    printf("{\"rate\":%f}\n", (double)(count / CALL * CALL) * 1e9 / (double)(bench_now() - start));
    fflush(stdout);
    k_topic_destroy(to);
    k_destroy(made);
}

int main(int argc, char **argv)
{
    bench_arguments(argc, argv, 5, 5, "loop LIBRARY batch|poll|produce ADDRESS TOPIC COUNT");
    load(argv[1]);
    size_t count = bench_integer(argv[5], 1);
    if (!strcmp(argv[2], "batch")) batch(argv[3], argv[4], count);
    else if (!strcmp(argv[2], "poll")) latency(argv[3], argv[4], count);
    else if (!strcmp(argv[2], "produce")) produce(argv[3], argv[4], count);
    else bench_refuse("no such mode");
    return 0;
}
