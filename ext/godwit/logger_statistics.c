/* Godwit::Backend::Native::Statistics: numbers for each writer, and the last messages that a
 * broadcaster's proxy has passed. The proxy's loop writes them without the GVL, under one mutex. No
 * thread waits for the GVL while it holds the mutex, and no forked child locks the mutex. */
#include "logger.h"
#include <pthread.h>
#include <stdlib.h>

/* A stored message, at `offset` of `arena`: number of frames, sizes of the frames, their bytes. */
typedef struct {
    size_t offset, size;
} slot_t;

typedef struct {
    gw_observer_t observer; /* must be first: the proxy casts the pointer */
    pthread_mutex_t mutex;
    gw_writers_t table;
    slot_t *slots; /* owned: a ring of `most` messages, the oldest at `first_slot` */
    char *arena;   /* owned: a ring of bytes, written at `end` */
    size_t most, first_slot, stored, arena_size, end;
    uint64_t messages, bytes, plain, foreign, levels[GW_LOG_LEVELS];
    bool open;
} statistics_t;

/* ---- memory ---- */

static void statistics_free(void *pointer) {
    statistics_t *statistics = pointer;
    if (statistics->open && statistics->observer.generation == atomic_load(&gw_generation))
        pthread_mutex_destroy(&statistics->mutex);
    gw_writers_free(&statistics->table);
    free(statistics->slots);
    free(statistics->arena);
    xfree(statistics);
}

static size_t statistics_size(const void *pointer) {
    const statistics_t *statistics = pointer;
    return sizeof *statistics + gw_writers_size(&statistics->table) +
            statistics->most * sizeof(slot_t) + statistics->arena_size;
}

/* The type needs no dmark and no dcompact, since statistics_t has no VALUE. */
static const rb_data_type_t statistics_type = {
        .wrap_struct_name = "Godwit::Backend::Native::Statistics",
        .function = {.dfree = statistics_free, .dsize = statistics_size},
        .parent = &gw_observer_type,
        .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE statistics_alloc(VALUE class) {
    statistics_t *statistics;
    return TypedData_Make_Struct(class, statistics_t, &statistics_type, statistics);
}

static statistics_t *statistics_get(VALUE self, const char *operation) {
    statistics_t *statistics = rb_check_typeddata(self, &statistics_type);
    if (!statistics->open) rb_raise(rb_eRuntimeError, "these statistics were never opened");
    if (statistics->observer.generation != atomic_load(&gw_generation))
        gw_raise_forked(operation, self);
    return statistics;
}

/* ---- for the proxy's loop: nothing from here to statistics_next needs the GVL ---- */

static slot_t *statistics_slot(statistics_t *statistics, size_t index) {
    return &statistics->slots[(statistics->first_slot + index) % statistics->most];
}

static void statistics_drop_first(statistics_t *statistics) {
    statistics->first_slot = (statistics->first_slot + 1) % statistics->most;
    statistics->stored--;
}

/* Stores the message behind the newest one in the arena. The oldest messages are dropped for room.
 * A message larger than a quarter of the arena is not stored. Needs the mutex. */
static void statistics_store(
        statistics_t *statistics, const gw_bytes_t *frames, int count, size_t bytes) {
    uint32_t header[1 + GW_LOG_FRAMES];
    size_t sizes_size = (1 + count) * sizeof *header, size = sizes_size + bytes;
    if (!statistics->most || bytes > statistics->arena_size / 4 || size > statistics->arena_size)
        return;
    if (statistics->end + size > statistics->arena_size) {
        /* The messages from `end` to the end of the arena are the oldest ones. */
        while (statistics->stored && statistics_slot(statistics, 0)->offset >= statistics->end)
            statistics_drop_first(statistics);
        statistics->end = 0;
    }
    while (statistics->stored == statistics->most ||
            (statistics->stored && statistics_slot(statistics, 0)->offset >= statistics->end &&
                    statistics_slot(statistics, 0)->offset < statistics->end + size)) {
        statistics_drop_first(statistics);
    }
    char *at = statistics->arena + statistics->end;
    header[0] = count;
    for (int i = 0; i < count; i++) header[1 + i] = frames[i].size;
    memcpy(at, header, sizes_size);
    at += sizes_size;
    for (int i = 0; i < count; i++) {
        if (frames[i].size) memcpy(at, frames[i].data, frames[i].size);
        at += frames[i].size;
    }
    *statistics_slot(statistics, statistics->stored++) = (slot_t){statistics->end, size};
    statistics->end += size;
}

/* `frames` has the first GW_LOG_FRAMES of `count` frames. `identity` is NULL unless the frames are
 * a record. */
static void statistics_record(statistics_t *statistics, const gw_identity_t *identity,
        const gw_bytes_t *frames, int count, size_t bytes) {
    pthread_mutex_lock(&statistics->mutex);
    statistics->messages++;
    statistics->bytes += bytes;
    if (identity) {
        statistics->levels[identity->level]++;
        gw_writers_count(&statistics->table, identity, bytes);
        statistics_store(statistics, frames, count, bytes);
    } else if (count == 1) {
        statistics->plain++;
        statistics->levels[gw_line_level(frames[0])]++;
        statistics_store(statistics, frames, count, bytes);
    } else {
        statistics->foreign++;
    }
    pthread_mutex_unlock(&statistics->mutex);
}

static void statistics_observe(
        gw_observer_t *observer, zmq_msg_t *message, int count, size_t bytes) {
    statistics_t *statistics = (statistics_t *)observer;
    gw_bytes_t frames[GW_LOG_FRAMES];
    gw_identity_t identity;
    for (int i = 0; i < count && i < GW_LOG_FRAMES; i++)
        frames[i] = (gw_bytes_t){zmq_msg_data(&message[i]), zmq_msg_size(&message[i])};
    bool record = count == GW_LOG_FRAMES && gw_identity_parse(frames[0], frames[1], &identity);
    statistics_record(statistics, record ? &identity : NULL, frames, count, bytes);
}

/* Returns the number of records in a batch; 0: the message is no batch. */
static int statistics_count(const zmq_msg_t *frames, int count) {
    if (count != 2) return 0;
    return gw_packing_count(zmq_msg_data((zmq_msg_t *)&frames[0]), zmq_msg_size(&frames[0]),
            zmq_msg_data((zmq_msg_t *)&frames[1]), zmq_msg_size(&frames[1]));
}

static int statistics_next(const zmq_msg_t *batch, size_t *offset, zmq_msg_t *frames) {
    gw_packed_t record;
    if (!gw_packing_next(zmq_msg_data((zmq_msg_t *)batch), zmq_msg_size(batch), offset, &record))
        return 0;
    for (int i = 0; i < GW_LOG_FRAMES; i++) {
        if (zmq_msg_init_size(&frames[i], record.sizes[i]) != 0) {
            while (i >= 0) zmq_msg_init(&frames[i--]);
            return 0;
        }
        if (record.sizes[i]) memcpy(zmq_msg_data(&frames[i]), record.frames[i], record.sizes[i]);
    }
    return GW_LOG_FRAMES;
}

/* ---- primitives ---- */

/* open(messages to store, bytes for them, writers to remember) */
static VALUE statistics_open(VALUE self, VALUE most, VALUE bytes, VALUE writers) {
    statistics_t *statistics = rb_check_typeddata(self, &statistics_type);
    size_t messages = NUM2SIZET(most), size = messages ? NUM2SIZET(bytes) : 0;
    uint32_t most_writers = NUM2UINT(writers);
    if (statistics->open) rb_raise(rb_eRuntimeError, "these statistics are open already");
    statistics->slots = messages ? calloc(messages, sizeof *statistics->slots) : NULL;
    statistics->arena = size ? malloc(size) : NULL; /* unwritten pages use no memory */
    if ((messages && !statistics->slots) || (size && !statistics->arena) ||
            !gw_writers_open(&statistics->table, most_writers) ||
            pthread_mutex_init(&statistics->mutex, NULL) != 0)
        rb_memerror(); /* the garbage collector frees what was allocated */
    statistics->most = messages;
    statistics->arena_size = size;
    statistics->observer.generation = atomic_load(&gw_generation);
    statistics->observer.observe = statistics_observe;
    statistics->observer.count = statistics_count;
    statistics->observer.next = statistics_next;
    statistics->open = true;
    return self;
}

/* record(frames) parses the frames as the proxy's loop does. record(frames, Header or nil) is for
 * frames that Ruby has parsed; nil: the frames are no record. */
static VALUE statistics_record_frames(int argc, VALUE *argv, VALUE self) {
    statistics_t *statistics = statistics_get(self, "record");
    gw_bytes_t frames[GW_LOG_FRAMES];
    gw_identity_t identity;
    size_t bytes = 0;
    rb_check_arity(argc, 1, 2);
    VALUE message = argv[0];
    Check_Type(message, T_ARRAY);
    long count = RARRAY_LEN(message);
    for (long i = 0; i < count; i++) {
        VALUE frame = rb_ary_entry(message, i);
        Check_Type(frame, T_STRING);
        bytes += RSTRING_LEN(frame);
        if (i < GW_LOG_FRAMES) frames[i] = (gw_bytes_t){RSTRING_PTR(frame), RSTRING_LEN(frame)};
    }
    bool record = count == GW_LOG_FRAMES &&
            (argc == 1 ? gw_identity_parse(frames[0], frames[1], &identity)
                       : !NIL_P(argv[1]) && gw_identity_of(frames[0], argv[1], &identity));
    statistics_record(statistics, record ? &identity : NULL, frames, (int)count, bytes);
    RB_GC_GUARD(message);
    return self;
}

/* messages(most) => Arrays of Strings of the last messages, the oldest first */
static VALUE statistics_messages(VALUE self, VALUE wanted) {
    statistics_t *statistics = statistics_get(self, "last");
    size_t most = NUM2SIZET(wanted), used = 0;
    VALUE buffer = rb_str_buf_new(statistics->arena_size);
    char *copy = RSTRING_PTR(buffer);

    pthread_mutex_lock(&statistics->mutex);
    size_t count = statistics->stored < most ? statistics->stored : most;
    for (size_t i = statistics->stored - count; i < statistics->stored; i++) {
        slot_t *one = statistics_slot(statistics, i);
        memcpy(copy + used, statistics->arena + one->offset, one->size);
        used += one->size;
    }
    pthread_mutex_unlock(&statistics->mutex);

    VALUE messages = rb_ary_new_capa(count);
    for (const char *at = copy; count; count--) {
        uint32_t header[1 + GW_LOG_FRAMES];
        memcpy(header, at, sizeof *header);
        memcpy(header, at, (1 + header[0]) * sizeof *header);
        at += (1 + header[0]) * sizeof *header;
        VALUE message = rb_ary_new_capa(header[0]);
        for (uint32_t i = 0; i < header[0]; i++) {
            rb_ary_push(message, rb_str_new(at, header[1 + i]));
            at += header[1 + i];
        }
        rb_ary_push(messages, message);
    }
    rb_str_resize(buffer, 0);
    RB_GC_GUARD(buffer);
    return messages;
}

static VALUE statistics_hex(const unsigned char *id) {
    char text[GW_ID_HEX + 1];
    for (int i = 0; i < GW_LOG_ID_BYTES; i++) snprintf(text + 2 * i, 3, "%02x", id[i]);
    return rb_usascii_str_new(text, GW_ID_HEX);
}

/* writers(most) => [id, prog, host (as in a topic), first and last number, received, lost, late,
 * bytes, lag in ns, longest lag, ms since its last record, records of each level] of the last
 * writers, the newest first */
static VALUE statistics_writers(VALUE self, VALUE wanted) {
    statistics_t *statistics = statistics_get(self, "writers");
    gw_writers_t *table = &statistics->table;
    uint32_t most = NUM2UINT(wanted), count = 0;
    if (most > table->most) most = table->most;
    VALUE buffer = rb_str_buf_new(most * sizeof(gw_writer_t));
    gw_writer_t *copy = (gw_writer_t *)RSTRING_PTR(buffer);

    pthread_mutex_lock(&statistics->mutex);
    uint32_t index = table->newest;
    for (; index != GW_NO_WRITER && count < most; index = table->writers[index].older) {
        copy[count++] = table->writers[index];
    }
    pthread_mutex_unlock(&statistics->mutex);

    int64_t now = gw_milliseconds_now();
    VALUE writers = rb_ary_new_capa(count);
    for (uint32_t i = 0; i < count; i++) {
        gw_writer_t *one = &copy[i];
        VALUE writer = rb_ary_new_from_args(3, statistics_hex(one->id),
                rb_str_new(one->prog, one->prog_size), rb_str_new(one->host, one->host_size));
        uint64_t numbers[] = {
                one->first, one->last, one->received, one->lost, one->late, one->bytes};
        int64_t times[] = {one->lag, one->longest_lag, now - one->heard};
        for (int j = 0; j < 6; j++) rb_ary_push(writer, ULL2NUM(numbers[j]));
        for (int j = 0; j < 3; j++) rb_ary_push(writer, LL2NUM(times[j]));
        for (int j = 0; j < GW_LOG_LEVELS; j++) rb_ary_push(writer, ULL2NUM(one->levels[j]));
        rb_ary_push(writers, writer);
    }
    rb_str_resize(buffer, 0);
    RB_GC_GUARD(buffer);
    return writers;
}

/* totals => the counters of GW_LOG_TOTALS, and the messages of each level */
static VALUE statistics_totals(VALUE self) {
    enum { COUNT = sizeof (const char *[])GW_LOG_TOTALS / sizeof (const char *) };
    statistics_t *statistics = statistics_get(self, "totals");
    pthread_mutex_lock(&statistics->mutex);
    uint64_t numbers[COUNT + GW_LOG_LEVELS] = {statistics->messages, statistics->bytes,
            statistics->table.records, statistics->plain, statistics->foreign,
            statistics->table.lost, statistics->table.late, statistics->table.count,
            statistics->table.forgotten, statistics->stored};
    memcpy(numbers + COUNT, statistics->levels, sizeof statistics->levels);
    pthread_mutex_unlock(&statistics->mutex);
    VALUE totals = rb_ary_new_capa(COUNT + GW_LOG_LEVELS);
    for (int i = 0; i < COUNT + GW_LOG_LEVELS; i++) rb_ary_push(totals, ULL2NUM(numbers[i]));
    return totals;
}

void gw_init_statistics(VALUE native) {
    VALUE class = rb_define_class_id_under(native, rb_intern("Statistics"), rb_cObject);
    rb_define_alloc_func(class, statistics_alloc);
    rb_define_method_id(class, rb_intern("open"), statistics_open, 3);
    rb_define_method_id(class, rb_intern("record"), statistics_record_frames, -1);
    rb_define_method_id(class, rb_intern("messages"), statistics_messages, 1);
    rb_define_method_id(class, rb_intern("writers"), statistics_writers, 1);
    rb_define_method_id(class, rb_intern("totals"), statistics_totals, 0);
}
