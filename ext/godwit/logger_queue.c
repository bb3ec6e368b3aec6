/* Godwit::Backend::Native::LogQueue: the entries between a logger's callers and its sender thread,
 * counted in records and bytes. The GVL is the only lock: Ruby switches threads only in `take`,
 * which sleeps in a Thread::Queue, and in `append` after it has added the entry. */
#include "logger.h"

enum { FIRST = 256 /* slots of the first array, a power of two */ };

typedef struct {
    VALUE entry;
    size_t bytes;
} slot_t;

typedef struct {
    slot_t *slots; /* owned */
    size_t capacity, first, count;
    size_t bytes;
    size_t most, most_bytes;
    VALUE wakeup; /* Thread::Queue in which the sender sleeps; Qfalse: the queue is not open */
    unsigned pass_every;
    bool asleep, closed, stalled;
} log_queue_t;

static ID id_pop, id_push;

static void queue_mark(void *pointer) {
    log_queue_t *queue = pointer;
    for (size_t i = 0; i < queue->count; i++)
        rb_gc_mark_movable(queue->slots[(queue->first + i) & (queue->capacity - 1)].entry);
    rb_gc_mark_movable(queue->wakeup);
}

static void queue_compact(void *pointer) {
    log_queue_t *queue = pointer;
    for (size_t i = 0; i < queue->count; i++) {
        slot_t *slot = &queue->slots[(queue->first + i) & (queue->capacity - 1)];
        slot->entry = rb_gc_location(slot->entry);
    }
    queue->wakeup = rb_gc_location(queue->wakeup);
}

static void queue_free(void *pointer) {
    log_queue_t *queue = pointer;
    xfree(queue->slots);
    xfree(queue);
}

static size_t queue_size(const void *pointer) {
    const log_queue_t *queue = pointer;
    return sizeof *queue + queue->capacity * sizeof *queue->slots;
}

static const rb_data_type_t log_queue_type = {
        .wrap_struct_name = "Godwit log queue",
        .function = {.dmark = queue_mark,
                .dfree = queue_free,
                .dsize = queue_size,
                .dcompact = queue_compact},
        .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE queue_alloc(VALUE class) {
    log_queue_t *queue;
    return TypedData_Make_Struct(class, log_queue_t, &log_queue_type, queue);
}

static log_queue_t *queue_opened(VALUE self) {
    log_queue_t *queue = rb_check_typeddata(self, &log_queue_type);
    if (!queue->wakeup) gw_raise_closed("log", self);
    return queue;
}

/* open(bound in records, bound in bytes, entries after which a caller yields to other threads) */
static VALUE queue_open(VALUE self, VALUE most, VALUE most_bytes, VALUE pass_every) {
    log_queue_t *queue = rb_check_typeddata(self, &log_queue_type);
    if (queue->wakeup) gw_raise_detail("StateError", "log", "this queue is open already");
    queue->most = NUM2SIZET(most);
    queue->most_bytes = NUM2SIZET(most_bytes);
    queue->pass_every = NUM2UINT(pass_every);
    VALUE wakeup = rb_funcall(rb_path2class("Thread::Queue"), rb_intern("new"), 0);
    RB_OBJ_WRITE(self, &queue->wakeup, wakeup);
    return self;
}

/* ---- entries ---- */

static void queue_grow(log_queue_t *queue) {
    size_t capacity = queue->capacity ? queue->capacity * 2 : FIRST;
    slot_t *slots = ALLOC_N(slot_t, capacity);
    for (size_t i = 0; i < queue->count; i++)
        slots[i] = queue->slots[(queue->first + i) & (queue->capacity - 1)];
    slot_t *old = queue->slots;
    queue->slots = slots;
    queue->capacity = capacity;
    queue->first = 0;
    xfree(old);
}

static size_t queue_entry_bytes(VALUE entry) {
    size_t bytes = GW_LOG_ENTRY_BYTES;
    if (!RB_TYPE_P(entry, T_STRUCT)) return bytes; /* the entry is a FlushMark */
    for (int i = GW_ENTRY_TEXT; i < GW_ENTRY_MEMBERS; i++) {
        VALUE text = RSTRUCT_GET(entry, i);
        if (RB_TYPE_P(text, T_STRING)) bytes += RSTRING_LEN(text);
    }
    return bytes;
}

/* now(stream, thread) => Entry with the present time, and without a text */
static VALUE queue_entry_now(VALUE self, VALUE stream, VALUE thread) {
    VALUE entry = rb_struct_alloc_noinit(self); /* rb_struct_new is slower: it calls initialize */
    RSTRUCT_SET(entry, GW_ENTRY_STREAM, stream);
    RSTRUCT_SET(entry, GW_ENTRY_T_NS, LL2NUM(gw_nanoseconds(CLOCK_REALTIME)));
    RSTRUCT_SET(entry, GW_ENTRY_MONO_NS, LL2NUM(gw_nanoseconds(CLOCK_MONOTONIC)));
    RSTRUCT_SET(entry, GW_ENTRY_THREAD, thread);
    return entry;
}

static void queue_put(VALUE self, log_queue_t *queue, VALUE entry) {
    size_t bytes = queue_entry_bytes(entry);
    if (queue->count == queue->capacity) queue_grow(queue);
    queue->slots[(queue->first + queue->count++) & (queue->capacity - 1)] = (slot_t){entry, bytes};
    queue->bytes += bytes;
    RB_OBJ_WRITTEN(self, Qundef, entry);
    if (RB_LIKELY(!queue->asleep)) return;
    queue->asleep = false;
    rb_funcall(queue->wakeup, id_push, 1, Qtrue);
}

static slot_t queue_get(log_queue_t *queue) {
    slot_t slot = queue->slots[queue->first];
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
    queue->bytes -= slot.bytes;
    return slot;
}

/* append(entry) => false when the queue is closed; append does not check the bounds */
static VALUE queue_append(VALUE self, VALUE entry) {
    log_queue_t *queue = queue_opened(self);
    if (queue->closed) return Qfalse;
    queue_put(self, queue, entry);
    if (queue->count % queue->pass_every == 0 && !queue->stalled) rb_thread_schedule();
    return Qtrue;
}

/* shift => the oldest entry, or nil */
static VALUE queue_shift(VALUE self) {
    log_queue_t *queue = queue_opened(self);
    return queue->count ? queue_get(queue).entry : Qnil;
}

/* _waiters => 1 while the sender sleeps, else 0 */
static VALUE queue_waiters(VALUE self) { return INT2FIX(queue_opened(self)->asleep); }

/* take(most) => up to `most` of the oldest entries, fewer if they exceed a quarter of the bound in
 * bytes; nil when the queue is closed and empty. Sleeps until there is an entry. An interrupt that
 * ends the sleep loses no entry. */
static VALUE queue_take(VALUE self, VALUE most) {
    log_queue_t *queue = queue_opened(self);
    long limit = NUM2LONG(most);
    while (queue->count == 0) {
        if (queue->closed) return Qnil;
        queue->asleep = true;
        rb_funcall(queue->wakeup, id_pop, 0);
        queue->asleep = false;
    }
    if ((size_t)limit > queue->count) limit = (long)queue->count;
    VALUE batch = rb_ary_new_capa(limit);
    size_t before = queue->bytes;
    while (limit-- > 0 && before - queue->bytes <= queue->most_bytes / 4) {
        rb_ary_push(batch, queue_get(queue).entry);
    }
    return batch;
}

static VALUE queue_close(VALUE self) {
    log_queue_t *queue = queue_opened(self);
    queue->closed = true;
    rb_funcall(queue->wakeup, rb_intern("close"), 0);
    return Qnil;
}

static VALUE queue_closed_p(VALUE self) { return RBOOL(queue_opened(self)->closed); }

static VALUE queue_count(VALUE self) { return SIZET2NUM(queue_opened(self)->count); }

static VALUE queue_full_p(VALUE self) {
    const log_queue_t *queue = queue_opened(self);
    return RBOOL(queue->count >= queue->most || queue->bytes >= queue->most_bytes);
}

/* At the low-water mark an eighth of the queue is free, so that a caller that has waited does not
 * wait again for its next record. */
static VALUE queue_below_low_water_p(VALUE self) {
    const log_queue_t *queue = queue_opened(self);
    return RBOOL(queue->count <= queue->most / 8 * 7 + queue->most % 8 * 7 / 8 &&
            queue->bytes <= queue->most_bytes / 8 * 7);
}

static VALUE queue_set_stalled(VALUE self, VALUE stalled) {
    queue_opened(self)->stalled = RTEST(stalled);
    return stalled;
}

void gw_init_log_queue(VALUE native) {
    VALUE entry = rb_define_module_id_under(native, rb_intern("Entry"));
    rb_define_method_id(entry, rb_intern("now"), queue_entry_now, 2);
    VALUE class = rb_define_class_id_under(native, rb_intern("LogQueue"), rb_cObject);
    id_pop = rb_intern("pop");
    id_push = rb_intern("push");
    rb_define_alloc_func(class, queue_alloc);
    rb_define_method_id(class, rb_intern("open"), queue_open, 3);
    rb_define_method_id(class, rb_intern("append"), queue_append, 1);
    rb_define_method_id(class, rb_intern("shift"), queue_shift, 0);
    rb_define_method_id(class, rb_intern("take"), queue_take, 1);
    rb_define_private_method(class, "_waiters", queue_waiters, 0);
    rb_define_method_id(class, rb_intern("close"), queue_close, 0);
    rb_define_method_id(class, rb_intern("closed?"), queue_closed_p, 0);
    rb_define_method_id(class, rb_intern("size"), queue_count, 0);
    rb_define_method_id(class, rb_intern("full?"), queue_full_p, 0);
    rb_define_method_id(class, rb_intern("below_low_water?"), queue_below_low_water_p, 0);
    rb_define_method_id(class, rb_intern("stalled="), queue_set_stalled, 1);
}
