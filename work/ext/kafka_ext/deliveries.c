/* Native::Deliveries: produces records, and receives the delivery reports of one producer handle in
 * librdkafka's background thread, which runs no Ruby. "The lock" is that of struct deliveries. */
#include "kafka_ext.h"
#include <errno.h>
#include <pthread.h>
#include <ruby/io.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { DELIVERIES_ERRORS = 16, DELIVERIES_REPORTS = 256 };

/* A call of produce. It is freed once its thread has left produce and its last report has come. */
typedef struct call {
    struct call *next;
    struct deliveries *self; /* borrowed: this struct outlives its calls */
    VALUE batches;           /* the argument of produce, which the caller's stack keeps alive */
    double deadline;         /* in seconds of the monotonic clock */
    size_t unsent;           /* records that librdkafka has not accepted yet; guarded by the GVL */
    size_t missing, failed;  /* records without a report, failed records; guarded by the lock */
    int code;                /* error code of the first failed record; guarded by the lock */
    int wake_fd;             /* eventfd; -1 once the thread has left produce; guarded by the lock */
    bool closed;             /* no report may write `records` any more; guarded by the lock */
    atomic_bool full;        /* true: wake the thread when librdkafka's queue has room */
    struct record {
        struct call *call;
        int64_t offset, time; /* -1: unknown; guarded by the lock */
    } records[];              /* librdkafka has pointers to those without a report */
} call_t;

typedef struct deliveries {
    rd_kafka_t *rk;           /* borrowed until release; guarded by the GVL */
    bool attached, released;  /* attach was called; release was called; guarded by the GVL */
    bool abandoned;           /* no call may wait any more; guarded by the GVL */
    pthread_mutex_t lock;     /* a thread that holds it runs no Ruby code */
    call_t *calls;            /* owned; guarded by the lock */
    size_t errors;            /* errors since the last call of `errors`; guarded by the lock */
    struct {
        int code;
        char text[256];
    } newest[DELIVERIES_ERRORS]; /* the newest errors, a ring; guarded by the lock */
} deliveries_t;

/* Does not free a struct that a producer handle may still use, such as at the process's exit. */
static void deliveries_free(void *pointer) {
    deliveries_t *self = pointer;
    if (!self->attached || self->released) free(self);
}

static size_t deliveries_size(const void *self) { return sizeof(deliveries_t); }

/* No dmark and no dcompact: a deliveries_t refers to no Ruby object. */
static const rb_data_type_t deliveries_type = {
        .wrap_struct_name = "Godwit::Work::Kafka::Native::Deliveries",
        .function = {.dfree = deliveries_free, .dsize = deliveries_size},
        .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE deliveries_allocate(VALUE class) {
    deliveries_t *self = calloc(1, sizeof *self);
    gw_check(self != NULL, rb_eNoMemError, "no memory for delivery reports");
    pthread_mutex_init(&self->lock, NULL);
    return TypedData_Wrap_Struct(class, &deliveries_type, self);
}

/* Frees a call if its thread has left produce and no report can come. Needs the lock. */
static void deliveries_settle(call_t *call) {
    if (call->wake_fd >= 0 || (call->missing && !call->self->released)) return;
    call_t **at = &call->self->calls;
    while (*at != call) at = &(*at)->next;
    *at = call->next;
    free(call);
}

/* Counts records as failed that librdkafka did not accept: no report of these records comes. */
static void deliveries_fail(call_t *call, size_t records, int code) {
    pthread_mutex_lock(&call->self->lock);
    call->missing -= records;
    call->failed += records;
    if (records && !call->code) call->code = code;
    pthread_mutex_unlock(&call->self->lock);
}

/* ---- the background thread ---- */

/* Wakes the call's thread. A write fails only if the eventfd is readable. Needs the lock. */
static void deliveries_wake(call_t *call) {
    uint64_t one = 1;
    ssize_t written = call->wake_fd < 0 ? 0 : write(call->wake_fd, &one, sizeof one);
    (void)written;
}

/* Handles the delivery report of one message. Needs the lock. */
static void deliveries_report(const rd_kafka_message_t *message) {
    struct record *record = message->_private;
    call_t *call = record->call;
    call->missing--;
    if (message->err) call->failed++;
    if (!call->code) call->code = message->err;
    if (!message->err && !call->closed)
        *record = (struct record){call, message->offset, gw_rd.message_timestamp(message, NULL)};
    if (call->missing) return;
    deliveries_wake(call);
    deliveries_settle(call);
}

static void deliveries_event(rd_kafka_t *rk, rd_kafka_event_t *event, void *opaque) {
    deliveries_t *self = opaque;
    const rd_kafka_message_t *messages[DELIVERIES_REPORTS];
    size_t count;
    pthread_mutex_lock(&self->lock);
    while ((count = gw_rd.event_message_array(event, messages, DELIVERIES_REPORTS)))
        for (size_t i = 0; i < count; i++) deliveries_report(messages[i]);
    if (gw_rd.event_type(event) == RD_KAFKA_EVENT_ERROR) {
        size_t place = self->errors++ % DELIVERIES_ERRORS;
        self->newest[place].code = gw_rd.event_error(event);
        strncpy(self->newest[place].text, gw_rd.event_error_string(event),
                sizeof self->newest[place].text - 1);
    }
    pthread_mutex_unlock(&self->lock);
    gw_rd.event_destroy(event); /* this makes room in librdkafka's queue */
    pthread_mutex_lock(&self->lock);
    for (call_t *call = self->calls; call; call = call->next)
        if (atomic_exchange(&call->full, false)) deliveries_wake(call);
    pthread_mutex_unlock(&self->lock);
}

/* ---- produce, with the GVL ---- */

static double deliveries_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Waits, at most 1e6 seconds a call, as Ruby's IO does: signals, kills and fiber schedulers work.
 * Returns false after the deadline, and if the handle was released or abandoned. */
static bool deliveries_wait(call_t *call) {
    uint64_t count;
    double seconds = call->deadline - deliveries_now();
    if (seconds <= 0 || call->self->released || call->self->abandoned) return false;
    int64_t limit_us = seconds < 1e6 ? (int64_t)(seconds * 1e6) : 1000000000000;
    struct timeval limit = {.tv_sec = limit_us / 1000000, .tv_usec = limit_us % 1000000};
    rb_wait_for_single_fd(call->wake_fd, RB_WAITFD_IN, &limit);
    return read(call->wake_fd, &count, sizeof count) > 0 || errno == EAGAIN;
}

/* Gives the cursor's record to librdkafka. A time of 0 means now. Returns an error code. */
static int deliveries_send(struct record *record, void *topic, int partition, const char *bytes,
        gw_cursor_t *cursor, int64_t time) {
    gw_cursor_t next = *cursor;
    size_t size, key_size, pairs_size;
    const char *value = gw_block_next(&next, GW_VALUES, bytes, &size);
    const char *key = gw_block_next(&next, GW_KEYS, bytes, &key_size);
    const char *pairs = gw_block_next(&next, GW_HEADERS, bytes, &pairs_size);
    rd_kafka_headers_t *headers = pairs ? gw_rd.headers_new(8) : NULL;
    if (pairs) gw_block_pairs(pairs, pairs_size, headers);
    atomic_store(&record->call->full, true); /* set first: room may come during producev */
    int error = gw_rd.producev(record->call->self->rk, RD_KAFKA_VTYPE_RKT, topic,
            RD_KAFKA_VTYPE_PARTITION, partition, RD_KAFKA_VTYPE_MSGFLAGS, RD_KAFKA_MSG_F_COPY,
            RD_KAFKA_VTYPE_VALUE, value, size, RD_KAFKA_VTYPE_KEY, key, key_size,
            RD_KAFKA_VTYPE_OPAQUE, record, RD_KAFKA_VTYPE_TIMESTAMP, time,
            pairs ? RD_KAFKA_VTYPE_HEADERS : RD_KAFKA_VTYPE_END, headers, RD_KAFKA_VTYPE_END);
    if (error && pairs) gw_rd.headers_destroy(headers); /* after a success librdkafka owns them */
    if (error != RD_KAFKA_RESP_ERR__QUEUE_FULL) *cursor = next;
    return error;
}

/* Returns a field of a batch, with checks: during a wait another thread may change the Array. */
static VALUE deliveries_field(VALUE batches, long index, long field) {
    VALUE batch = rb_ary_entry(batches, index);
    Check_Type(batch, T_ARRAY);
    return rb_ary_entry(batch, field);
}

/* Gives all records to librdkafka. Stops after the deadline, and when the handle is abandoned. */
static void deliveries_send_all(call_t *call, const struct record *end) {
    struct record *record = call->records;
    for (long i = 0; i < RARRAY_LEN(call->batches); i++) {
        void *topic = gw_library_handle(deliveries_field(call->batches, i, 0));
        int partition = NUM2INT(deliveries_field(call->batches, i, 1));
        VALUE bytes = deliveries_field(call->batches, i, 2);
        Check_Type(bytes, T_STRING);
        bytes = rb_str_new_frozen(bytes);
        VALUE times = rb_check_string_type(deliveries_field(call->batches, i, 4));
        if (!NIL_P(times)) times = rb_str_new_frozen(times);
        gw_cursor_t cursor = gw_block_open(bytes);
        gw_check(cursor.count == NUM2UINT(deliveries_field(call->batches, i, 3)) &&
                        cursor.count <= (size_t)(end - record),
                rb_eArgError, "the count of a batch is not that of its block");
        gw_check(NIL_P(times) || (size_t)RSTRING_LEN(times) == 8 * cursor.count, rb_eArgError,
                "a batch has a time for each record, or none");
        for (const struct record *last = record + cursor.count; record < last;) {
            if (call->self->abandoned) return; /* the producer closes the handle */
            int64_t time = 0;
            if (!NIL_P(times)) memcpy(&time, RSTRING_END(times) - 8 * (last - record), 8);
            int error =
                    deliveries_send(record, topic, partition, RSTRING_PTR(bytes), &cursor, time);
            if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL && deliveries_wait(call)) continue;
            if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) return;
            call->unsent--;
            record++;
            if (error) deliveries_fail(call, 1, error);
        }
        RB_GC_GUARD(bytes);
        RB_GC_GUARD(times);
    }
}

static VALUE deliveries_run(VALUE argument) {
    call_t *call = (call_t *)argument;
    const struct record *end = call->records + call->unsent;
    deliveries_send_all(call, end);
    deliveries_fail(call, call->unsent, RD_KAFKA_RESP_ERR__QUEUE_FULL);
    call->unsent = 0;
    while (call->missing && deliveries_wait(call)) continue;
    pthread_mutex_lock(&call->self->lock);
    call->closed = true;
    call_t result = *call;
    pthread_mutex_unlock(&call->self->lock);
    VALUE offsets = rb_ary_new(), times = rb_ary_new();
    for (const struct record *record = call->records; record < end; record++) {
        rb_ary_push(offsets, LL2NUM(record->offset));
        rb_ary_push(times, LL2NUM(record->time));
    }
    return rb_struct_new(gw_class("Delivery"), offsets, times, INT2NUM(result.code),
            SIZET2NUM(result.failed), SIZET2NUM(result.missing));
}

static VALUE deliveries_leave(VALUE argument) {
    call_t *call = (call_t *)argument;
    deliveries_t *self = call->self;
    pthread_mutex_lock(&self->lock);
    close(call->wake_fd);
    call->wake_fd = -1;
    call->missing -= call->unsent;
    deliveries_settle(call);
    pthread_mutex_unlock(&self->lock);
    return Qnil;
}

/* produce(batches, seconds): a batch is [address of a topic, partition, block of records, their
 * number], and may end with their times: a String of int64, in milliseconds since 1970. */
static VALUE deliveries_produce(VALUE object, VALUE batches, VALUE seconds) {
    deliveries_t *self = rb_check_typeddata(object, &deliveries_type);
    double deadline = deliveries_now() + NUM2DBL(seconds);
    size_t count = 0;
    Check_Type(batches, T_ARRAY);
    for (long i = 0; i < RARRAY_LEN(batches); i++)
        count += NUM2UINT(deliveries_field(batches, i, 3));
    gw_check(self->rk != NULL, rb_eRuntimeError, "no producer: call attach and bind");
    int wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    gw_check(wake_fd >= 0, rb_eRuntimeError, "cannot wait for reports: %s", strerror(errno));
    call_t *call = malloc(sizeof *call + count * sizeof(struct record));
    if (!call) close(wake_fd);
    gw_check(call != NULL, rb_eNoMemError, "no memory for %zu delivery reports", count);
    *call = (call_t){.self = self, .batches = batches, .deadline = deadline, .unsent = count,
            .missing = count, .wake_fd = wake_fd};
    for (size_t i = 0; i < count; i++) call->records[i] = (struct record){call, -1, -1};
    pthread_mutex_lock(&self->lock);
    call->next = self->calls;
    self->calls = call;
    pthread_mutex_unlock(&self->lock);
    VALUE result = rb_ensure(deliveries_run, (VALUE)call, deliveries_leave, (VALUE)call);
    RB_GC_GUARD(object);
    RB_GC_GUARD(batches);
    return result;
}

/* ---- the producer handle: its methods ---- */

/* attach(conf): must come before rd_kafka_new, which uses the conf. */
static VALUE deliveries_attach(VALUE object, VALUE address) {
    deliveries_t *self = rb_check_typeddata(object, &deliveries_type);
    rd_kafka_conf_t *conf = gw_library_handle(address);
    gw_check(!self->attached, rb_eRuntimeError, "one producer has these Deliveries: make new ones");
    self->attached = true;
    gw_rd.conf_set_events(conf, RD_KAFKA_EVENT_DR | RD_KAFKA_EVENT_ERROR);
    gw_rd.conf_set_opaque(conf, self);
    gw_rd.conf_set_background_event_cb(conf, deliveries_event);
    return Qnil;
}

/* bind(rk), after rd_kafka_new: the main queue's events come to the background thread, too. */
static VALUE deliveries_bind(VALUE object, VALUE address) {
    deliveries_t *self = rb_check_typeddata(object, &deliveries_type);
    rd_kafka_t *rk = gw_library_handle(address);
    gw_check(self->attached && !self->released && !self->rk, rb_eRuntimeError,
            "bind comes once, after attach");
    rd_kafka_queue_t *main = gw_rd.queue_get_main(rk), *background = gw_rd.queue_get_background(rk);
    gw_rd.queue_forward(main, background);
    gw_rd.queue_destroy(main);
    gw_rd.queue_destroy(background);
    self->rk = rk;
    return Qnil;
}

/* abandon: calls of produce that wait return at once, and later calls do not wait. */
static VALUE deliveries_abandon(VALUE object) {
    deliveries_t *self = rb_check_typeddata(object, &deliveries_type);
    self->abandoned = true;
    pthread_mutex_lock(&self->lock);
    for (call_t *call = self->calls; call; call = call->next) deliveries_wake(call);
    pthread_mutex_unlock(&self->lock);
    return Qnil;
}

/* release, after rd_kafka_destroy has returned: no report comes any more. */
static VALUE deliveries_release(VALUE object) {
    deliveries_t *self = rb_check_typeddata(object, &deliveries_type);
    pthread_mutex_lock(&self->lock);
    self->released = true;
    self->rk = NULL;
    for (call_t *call = self->calls, *next; call; call = next) {
        next = call->next;
        deliveries_wake(call);
        deliveries_settle(call);
    }
    pthread_mutex_unlock(&self->lock);
    return Qnil;
}

/* errors: [code, text] of the errors since the last call of this method, at most the newest 16. */
static VALUE deliveries_errors(VALUE object) {
    deliveries_t *self = rb_check_typeddata(object, &deliveries_type);
    VALUE found = rb_ary_new();
    pthread_mutex_lock(&self->lock);
    deliveries_t seen = *self;
    self->errors = 0;
    pthread_mutex_unlock(&self->lock);
    size_t first = seen.errors > DELIVERIES_ERRORS ? seen.errors - DELIVERIES_ERRORS : 0;
    for (size_t i = first; i < seen.errors; i++)
        rb_ary_push(found, rb_assoc_new(INT2NUM(seen.newest[i % DELIVERIES_ERRORS].code),
                gw_text(seen.newest[i % DELIVERIES_ERRORS].text)));
    return found;
}

void gw_init_deliveries(VALUE native) {
    VALUE class = rb_define_class_under(native, "Deliveries", rb_cObject);
    rb_define_alloc_func(class, deliveries_allocate);
    rb_define_method(class, "attach", deliveries_attach, 1);
    rb_define_method(class, "bind", deliveries_bind, 1);
    rb_define_method(class, "produce", deliveries_produce, 2);
    rb_define_method(class, "errors", deliveries_errors, 0);
    rb_define_method(class, "abandon", deliveries_abandon, 0);
    rb_define_method(class, "release", deliveries_release, 0);
}
