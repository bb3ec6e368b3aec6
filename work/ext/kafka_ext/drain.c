/* Native.drain: receives the messages in a partition's queue, without waiting. Needs the GVL. */
#include "kafka_ext.h"

enum { DRAIN_SLICE = 1000, DRAIN_BLOCK = 1 << 20 }; /* messages of a slice; bytes of a block */

typedef struct {
    rd_kafka_queue_t *queue; /* borrowed during the call */
    int64_t records, bytes;  /* numbers of records and of bytes that are still wanted */
    VALUE found;             /* Array of the results, which the caller's stack keeps alive */
    size_t first, last;      /* messages[first] to messages[last - 1] are not destroyed yet */
    rd_kafka_message_t *messages[DRAIN_SLICE];
} drain_t;

static int64_t drain_size(const rd_kafka_message_t *message) {
    return (int64_t)(message->len + message->key_len);
}

/* Receives a slice: one message, then as many messages of its size as fit into the wanted bytes.
 * No block has messages of two slices, so a block has at most DRAIN_SLICE records. */
static bool drain_take(drain_t *drain) {
    drain->first = drain->last = 0;
    if (gw_rd.consume_batch_queue(drain->queue, 0, drain->messages, 1) != 1) return false;
    drain->last = 1;
    int64_t more = drain->bytes / (drain_size(drain->messages[0]) + 1);
    if (more > drain->records - 1) more = drain->records - 1;
    if (more > DRAIN_SLICE - 1) more = DRAIN_SLICE - 1;
    ssize_t got = gw_rd.consume_batch_queue(drain->queue, 0, drain->messages + 1, (size_t)more);
    if (got > 0) drain->last += (size_t)got;
    return true;
}

static VALUE drain_failure(const rd_kafka_message_t *message, int code) {
    const char *text = message->err && message->payload ? message->payload : gw_rd.err2str(code);
    return rb_struct_new(gw_class("Failure"), INT2NUM(code),
            message->rkt ? gw_text(gw_rd.topic_name(message->rkt)) : Qnil,
            INT2NUM(message->partition), LL2NUM(message->offset), gw_text(text));
}

static VALUE drain_block(rd_kafka_message_t **messages, size_t count, int columns) {
    VALUE times = rb_str_new(NULL, (long)(8 * count));
    VALUE bytes = gw_block_make(messages, count, columns);
    for (size_t i = 0; i < count; i++) {
        int64_t time = gw_rd.message_timestamp(messages[i], NULL);
        memcpy(RSTRING_PTR(times) + 8 * i, &time, 8);
    }
    VALUE arguments[] = {bytes, LL2NUM(messages[0]->offset), times};
    return rb_class_new_instance(3, arguments, gw_class("Block"));
}

/* Adds a block of the next messages to `found`, or a Failure, and destroys these messages. */
static void drain_next(drain_t *drain) {
    rd_kafka_message_t **messages = drain->messages + drain->first;
    size_t count = 0, available = drain->last - drain->first;
    int64_t bytes = 0;
    int error = 0, columns = GW_HEADERS; /* values and keys: so far no message has headers */
    for (; count < available && bytes <= DRAIN_BLOCK; bytes += drain_size(messages[count++])) {
        rd_kafka_headers_t *headers;
        if (count && messages[count]->offset != messages[count - 1]->offset + 1) break;
        error = messages[count]->err;
        if (!error) error = gw_rd.message_headers(messages[count], &headers);
        if (error && error != RD_KAFKA_RESP_ERR__NOENT) break;
        if (!error) columns = GW_COLUMNS;
    }
    rb_ary_push(drain->found,
            count ? drain_block(messages, count, columns) : drain_failure(messages[0], error));
    if (count == 0) count = 1;
    drain->records -= (int64_t)count;
    drain->bytes -= bytes;
    while (count-- > 0) gw_rd.message_destroy(drain->messages[drain->first++]);
}

static VALUE drain_all(VALUE argument) {
    drain_t *drain = (drain_t *)argument;
    while (drain->records > 0 && drain->bytes > 0 && drain_take(drain))
        while (drain->first < drain->last) drain_next(drain);
    return drain->found;
}

static VALUE drain_destroy(VALUE argument) {
    drain_t *drain = (drain_t *)argument;
    while (drain->first < drain->last) gw_rd.message_destroy(drain->messages[drain->first++]);
    return Qnil;
}

/* Native.drain(queue, records, bytes). An exception loses the messages: Claim then seeks back. */
static VALUE drain_call(VALUE self, VALUE queue, VALUE records, VALUE bytes) {
    drain_t drain = {.queue = gw_library_handle(queue), .found = rb_ary_new()};
    drain.records = NUM2LL(records);
    drain.bytes = NUM2LL(bytes);
    return rb_ensure(drain_all, (VALUE)&drain, drain_destroy, (VALUE)&drain);
}

void gw_init_drain(VALUE native) { rb_define_singleton_method(native, "drain", drain_call, 3); }
