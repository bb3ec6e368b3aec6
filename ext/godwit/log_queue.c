/* Godwit::Backend::Native::LogQueue: what a logger's callers have given and its sender has not yet taken, counted in records and bytes. Nothing here waits
 * but `take`, which sleeps in a Thread::Queue; nothing is done by halves, since Ruby changes threads in no call of these.
 *
 * An entry is an Array (lib/godwit/logger/encoder.rb), or a line: a String that goes over the wire as it is. `line` makes such a one in the caller, by the same
 * rules as the encoder, for the usual case: a text, a formatter of ours without tags, a program's name that was seen before. All else is Ruby's. */
#include "godwit.h"
#include <string.h>
#include <time.h>

enum {
    FIRST = 256,              /* slots, a power of two */
    LEVELS = 6,
    MOST_BYTES = 64 * 1024,   /* of a text: Logger::Text::MOST_BYTES */
    ENTRY_BYTES = 448,        /* that an entry takes besides its texts: an Array of eight, and the slots and the slack of up to four Strings */
    LINE_BYTES = 128,         /* and a line: the String's slot, the queue's, what malloc adds */
    STAMP = 20,               /* "2026-11-21T22:16:00." */
};

typedef struct {
    VALUE entry;
    size_t bytes;
} slot_t;

/* What comes before and behind the time in lines of a level, for the program's name that came last. */
typedef struct {
    VALUE prog;               /* nil or a String of the stream's own, which nobody changes */
    VALUE head, middle;       /* Strings; nil: none was seen */
} start_t;

typedef struct {
    slot_t *slots;            /* owned */
    size_t capacity, first, count;
    size_t bytes;
    size_t most, most_bytes;
    VALUE bell;               /* Thread::Queue in which the sender sleeps */
    VALUE formatter;          /* class of those that `line` knows */
    start_t starts[LEVELS];
    time_t second;            /* of the stamp */
    char stamp[STAMP];
    unsigned pass_every, generation;
    bool asleep, closed, stalled, served, only_lines;
} log_queue_t;

static ID id_pop, id_push, id_strftime, id_datetime_format, id_key, id_tags, id_add, id_level, id_handle, id_held, id_lines, id_progname, id_formatter;

static void
log_queue_mark(void *pointer)
{
    log_queue_t *queue = pointer;
    if (!queue) return;
    for (size_t i = 0; i < queue->count; i++) rb_gc_mark_movable(queue->slots[(queue->first + i) & (queue->capacity - 1)].entry);
    for (int i = 0; i < LEVELS; i++) {
        rb_gc_mark_movable(queue->starts[i].prog);
        rb_gc_mark_movable(queue->starts[i].head);
        rb_gc_mark_movable(queue->starts[i].middle);
    }
    rb_gc_mark_movable(queue->bell);
    rb_gc_mark_movable(queue->formatter);
}

static void
log_queue_compact(void *pointer)
{
    log_queue_t *queue = pointer;
    if (!queue) return;
    for (size_t i = 0; i < queue->count; i++) {
        slot_t *slot = &queue->slots[(queue->first + i) & (queue->capacity - 1)];
        slot->entry = rb_gc_location(slot->entry);
    }
    for (int i = 0; i < LEVELS; i++) {
        queue->starts[i].prog = rb_gc_location(queue->starts[i].prog);
        queue->starts[i].head = rb_gc_location(queue->starts[i].head);
        queue->starts[i].middle = rb_gc_location(queue->starts[i].middle);
    }
    queue->bell = rb_gc_location(queue->bell);
    queue->formatter = rb_gc_location(queue->formatter);
}

static void
log_queue_free(void *pointer)
{
    log_queue_t *queue = pointer;
    if (!queue) return;
    xfree(queue->slots);
    xfree(queue);
}

static size_t
log_queue_size(const void *pointer)
{
    const log_queue_t *queue = pointer;
    return queue ? sizeof *queue + queue->capacity * sizeof *queue->slots : 0;
}

static const rb_data_type_t log_queue_type = {
    .wrap_struct_name = "Godwit log queue",
    .function = {.dmark = log_queue_mark, .dfree = log_queue_free, .dsize = log_queue_size, .dcompact = log_queue_compact},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE
log_queue_alloc(VALUE class)
{
    return TypedData_Wrap_Struct(class, &log_queue_type, NULL);
}

static log_queue_t *
opened(VALUE self)
{
    log_queue_t *queue = rb_check_typeddata(self, &log_queue_type);
    if (!queue) gw_raise_closed("log", self);
    return queue;
}

/* open(bound in records, in bytes, entries after which a caller lets others run, class of the formatter that adds nothing by itself) */
static VALUE
log_queue_open(VALUE self, VALUE most, VALUE most_bytes, VALUE pass_every, VALUE formatter)
{
    if (rb_check_typeddata(self, &log_queue_type)) gw_raise_detail("StateError", "log", rb_str_new_cstr("this queue is open already"));
    Check_Type(formatter, T_CLASS);
    size_t records = NUM2SIZET(most), bytes = NUM2SIZET(most_bytes);
    unsigned pass = NUM2UINT(pass_every);
    VALUE bell = rb_funcall(rb_path2class("Thread::Queue"), rb_intern("new"), 0);
    log_queue_t *queue = ZALLOC(log_queue_t);
    for (int i = 0; i < LEVELS; i++) queue->starts[i] = (start_t){Qnil, Qnil, Qnil};
    queue->bell = queue->formatter = Qnil;
    queue->second = -1;
    RTYPEDDATA_DATA(self) = queue;
    RB_OBJ_WRITE(self, &queue->bell, bell);
    RB_OBJ_WRITE(self, &queue->formatter, formatter);
    queue->most = records;
    queue->most_bytes = bytes;
    queue->pass_every = pass;
    queue->generation = atomic_load(&gw_generation);
    return self;
}

/* ---- entries ---- */

static void
grow(log_queue_t *queue)
{
    size_t capacity = queue->capacity ? queue->capacity * 2 : FIRST;
    slot_t *slots = ALLOC_N(slot_t, capacity);
    for (size_t i = 0; i < queue->count; i++) slots[i] = queue->slots[(queue->first + i) & (queue->capacity - 1)];
    slot_t *old = queue->slots;
    queue->slots = slots;
    queue->capacity = capacity;
    queue->first = 0;
    xfree(old);
}

/* Rings when the sender sleeps, so an entry is never there without its knowing. */
static void
put(VALUE self, log_queue_t *queue, VALUE entry, size_t bytes)
{
    if (queue->count == queue->capacity) grow(queue);
    queue->slots[(queue->first + queue->count++) & (queue->capacity - 1)] = (slot_t){entry, bytes};
    queue->bytes += bytes;
    RB_OBJ_WRITTEN(self, Qundef, entry);
    if (RB_LIKELY(!queue->asleep)) return;
    queue->asleep = false;
    rb_funcall(queue->bell, id_push, 1, Qtrue);
}

static void
let_others_run(const log_queue_t *queue)
{
    if (queue->count % queue->pass_every == 0 && !queue->stalled) rb_thread_schedule();
}

static slot_t
get(log_queue_t *queue)
{
    slot_t slot = queue->slots[queue->first];
    queue->first = (queue->first + 1) & (queue->capacity - 1);
    queue->count--;
    queue->bytes -= slot.bytes;
    return slot;
}

/* push(entry, bytes) => false: closed */
static VALUE
log_queue_push(VALUE self, VALUE entry, VALUE bytes)
{
    log_queue_t *queue = opened(self);
    if (queue->closed) return Qfalse;
    put(self, queue, entry, NUM2SIZET(bytes) + ENTRY_BYTES);
    let_others_run(queue);
    return Qtrue;
}

/* shift => the oldest entry; nil: none */
static VALUE
log_queue_shift(VALUE self)
{
    log_queue_t *queue = opened(self);
    return queue->count ? get(queue).entry : Qnil;
}

/* _waiters => 1 while the sender sleeps, else 0 */
static VALUE
log_queue_waiters(VALUE self)
{
    return INT2FIX(opened(self)->asleep);
}

/* _take(most) => entries, of a quarter of the bound in bytes at most; nil: closed, and empty. Sleeps until there is one; an interrupt that comes
 * then finds nothing taken. */
static VALUE
log_queue_take(VALUE self, VALUE most)
{
    log_queue_t *queue = opened(self);
    long limit = NUM2LONG(most);
    while (queue->count == 0) {
        if (queue->closed) return Qnil;
        queue->asleep = true;
        rb_funcall(queue->bell, id_pop, 0);
        queue->asleep = false;
    }
    if ((size_t)limit > queue->count) limit = (long)queue->count;
    VALUE batch = rb_ary_new_capa(limit);
    queue->only_lines = true;
    size_t before = queue->bytes;
    while (limit-- > 0 && before - queue->bytes <= queue->most_bytes / 4) {
        VALUE entry = get(queue).entry;
        queue->only_lines &= RB_TYPE_P(entry, T_STRING);
        rb_ary_push(batch, entry);
    }
    return batch;
}

/* Whether the last that were taken are lines, all of them. */
static VALUE
log_queue_only_lines_p(VALUE self)
{
    return RBOOL(opened(self)->only_lines);
}

static VALUE
log_queue_close(VALUE self)
{
    log_queue_t *queue = opened(self);
    queue->closed = true;
    rb_funcall(queue->bell, rb_intern("close"), 0);
    return Qnil;
}

static VALUE
log_queue_closed_p(VALUE self)
{
    return RBOOL(opened(self)->closed);
}

static VALUE
log_queue_count(VALUE self)
{
    return SIZET2NUM(opened(self)->count);
}

static VALUE
log_queue_full_p(VALUE self)
{
    const log_queue_t *queue = opened(self);
    return RBOOL(queue->count >= queue->most || queue->bytes >= queue->most_bytes);
}

/* Some room more than one: who waits shall not do so for each record. */
static VALUE
log_queue_roomy_p(VALUE self)
{
    const log_queue_t *queue = opened(self);
    return RBOOL(queue->count <= queue->most / 8 * 7 + queue->most % 8 * 7 / 8 && queue->bytes <= queue->most_bytes / 8 * 7);
}

static VALUE
log_queue_set_stalled(VALUE self, VALUE stalled)
{
    opened(self)->stalled = RTEST(stalled);
    return stalled;
}

/* Whether a sender is at work: without one, `line` leaves all to Ruby. */
static VALUE
log_queue_set_served(VALUE self, VALUE served)
{
    opened(self)->served = RTEST(served);
    return served;
}

/* ---- lines ---- */

static inline bool
same(VALUE known, VALUE prog)
{
    if (known == prog) return true;
    if (NIL_P(known) || NIL_P(prog) || !RB_TYPE_P(prog, T_STRING) || rb_obj_class(prog) != rb_cString) return false;
    return rb_enc_get_index(known) == rb_enc_get_index(prog) && RSTRING_LEN(known) == RSTRING_LEN(prog) &&
        memcmp(RSTRING_PTR(known), RSTRING_PTR(prog), RSTRING_LEN(prog)) == 0;
}

/* learn(level, prog, head, middle): what stands in a line before the time and behind it, for this program's name */
static VALUE
log_queue_learn(VALUE self, VALUE level, VALUE prog, VALUE head, VALUE middle)
{
    log_queue_t *queue = opened(self);
    long number = NUM2LONG(level);
    if (!NIL_P(prog)) Check_Type(prog, T_STRING);
    Check_Type(head, T_STRING);
    Check_Type(middle, T_STRING);
    if (number < 0 || number >= LEVELS || memchr(RSTRING_PTR(middle), 0, RSTRING_LEN(middle))) return Qnil;
    start_t *start = &queue->starts[number];
    RB_OBJ_WRITE(self, &start->prog, prog);
    RB_OBJ_WRITE(self, &start->head, head);
    RB_OBJ_WRITE(self, &start->middle, middle);
    return Qnil;
}

static inline bool
usual(VALUE text)
{
    if (!RB_TYPE_P(text, T_STRING) || rb_obj_class(text) != rb_cString) return false;
    int encoding = rb_enc_get_index(text);
    return encoding == rb_utf8_encindex() || encoding == rb_usascii_encindex();
}

/* Whether it stays as it is, and none of it is cut. */
static inline bool
clean(VALUE text)
{
    long size = RSTRING_LEN(text);
    return size <= MOST_BYTES && rb_enc_str_coderange(text) != ENC_CODERANGE_BROKEN && !memchr(RSTRING_PTR(text), 0, size);
}

static bool
none(VALUE tags)
{
    return RB_TYPE_P(tags, T_ARRAY) && RARRAY_LEN(tags) == 0;
}

/* Whether a formatter adds nothing to what Ruby's own makes: of our class, without a form of the time, without tags of this fiber or its own (Formatter#current_tags). */
static bool
bare(const log_queue_t *queue, VALUE formatter)
{
    if (NIL_P(formatter)) return true;
    if (RB_SPECIAL_CONST_P(formatter) || RBASIC_CLASS(formatter) != queue->formatter || !NIL_P(rb_ivar_get(formatter, id_datetime_format))) return false;
    volatile VALUE key = rb_ivar_get(formatter, id_key);
    if (!RB_SYMBOL_P(key)) return false;
    ID id = rb_check_id(&key); /* none: nobody has had tags under it */
    VALUE tags = id ? rb_thread_local_aref(rb_thread_current(), id) : Qnil;
    return none(NIL_P(tags) ? rb_ivar_get(formatter, id_tags) : tags);
}

/* Ruby knows the time zone. Others may run. */
static bool
stamp(VALUE self, time_t second)
{
    VALUE text = rb_funcall(rb_time_nano_new(second, 0), id_strftime, 1, rb_str_new_cstr("%Y-%m-%dT%H:%M:%S."));
    if (!RB_TYPE_P(text, T_STRING) || RSTRING_LEN(text) != STAMP) return false;
    log_queue_t *queue = opened(self);
    memcpy(queue->stamp, RSTRING_PTR(text), STAMP);
    queue->second = second;
    return true;
}

static inline char *
add(char *to, const char *text, size_t size)
{
    memcpy(to, text, size);
    return to + size;
}

static VALUE
made_line(const log_queue_t *queue, const start_t *start, long nanoseconds, VALUE text)
{
    long head = RSTRING_LEN(start->head), middle = RSTRING_LEN(start->middle), size = RSTRING_LEN(text);
    VALUE line = rb_enc_str_new(NULL, head + STAMP + 6 + middle + size, rb_utf8_encoding());
    char *to = add(RSTRING_PTR(line), RSTRING_PTR(start->head), head);
    to = add(to, queue->stamp, STAMP);
    for (long i = 5, rest = nanoseconds / 1000; i >= 0; i--, rest /= 10) to[i] = (char)('0' + rest % 10);
    to = add(to + 6, RSTRING_PTR(start->middle), middle);
    add(to, RSTRING_PTR(text), size);
    return line;
}

/* False: nothing was done. */
static bool
put_line(VALUE self, log_queue_t *queue, VALUE level, VALUE prog, VALUE text, VALUE formatter)
{
    struct timespec now;
    if (!RB_FIXNUM_P(level) || FIX2LONG(level) < 0 || FIX2LONG(level) >= LEVELS || !usual(text)) return false;
    clock_gettime(CLOCK_REALTIME, &now);
    if (RB_UNLIKELY(now.tv_sec != queue->second) && !stamp(self, now.tv_sec)) return false;

    /* No other thread runs from here on, until the line is in the queue. */
    const start_t *start = &queue->starts[FIX2LONG(level)];
    if (!queue->served || queue->closed || queue->second != now.tv_sec || queue->generation != atomic_load(&gw_generation)) return false;
    if (queue->count >= queue->most || queue->bytes >= queue->most_bytes) return false;
    if (NIL_P(start->head) || !same(start->prog, prog) || !bare(queue, formatter) || !clean(text)) return false;
    VALUE line = made_line(queue, start, now.tv_nsec, text);
    put(self, queue, line, LINE_BYTES + RSTRING_LEN(line));
    let_others_run(queue);
    RB_GC_GUARD(self);
    return true;
}

/* line(level, prog, message, formatter) => true: it is in the queue; false: nothing was done */
static VALUE
log_queue_line(VALUE self, VALUE level, VALUE prog, VALUE text, VALUE formatter)
{
    return RBOOL(put_line(self, opened(self), level, prog, text, formatter));
}

/* ---- calls ---- */

/* The queue of the writer that a logger has now; nil: it makes no lines. */
static VALUE
queue_of(VALUE logger)
{
    VALUE handle = rb_ivar_get(logger, id_handle);
    if (NIL_P(handle)) return Qnil;
    VALUE held = rb_ivar_get(handle, id_held);
    if (!RB_TYPE_P(held, T_ARRAY) || RARRAY_LEN(held) == 0) return Qnil;
    VALUE queue = rb_ivar_get(RARRAY_AREF(held, 0), id_lines);
    return rb_typeddata_is_kind_of(queue, &log_queue_type) ? queue : Qnil;
}

/* Somebody has put methods of his own before Logger's, or in their place, which are to be called. */
static atomic_bool aside;

static VALUE
step_aside(VALUE self)
{
    atomic_store(&aside, true);
    return Qnil;
}

/* Whether all is left to Logger's own methods. */
static inline bool
by_ruby(void)
{
    return rb_keyword_given_p() || rb_block_given_p() || atomic_load_explicit(&aside, memory_order_relaxed);
}

/* As Logger#add, for what makes a usual line. Its keywords cost Ruby 3.1 a Hash a call, even where there are none. */
static VALUE
calls_add(int argc, VALUE *argv, VALUE self)
{
    if ((argc == 2 || argc == 3) && RB_FIXNUM_P(argv[0]) && !by_ruby()) {
        VALUE level = rb_funcallv(self, id_level, 0, NULL);
        if (RB_FIXNUM_P(level) && FIX2LONG(argv[0]) < FIX2LONG(level)) return Qtrue;
        VALUE text = argv[1], prog = argc == 3 ? argv[2] : Qnil;
        if (NIL_P(text)) {
            text = prog;
            prog = Qnil;
        }
        if (NIL_P(prog)) prog = rb_ivar_get(self, id_progname);
        VALUE queue = RB_FIXNUM_P(level) ? queue_of(self) : Qnil;
        if (!NIL_P(queue) && put_line(queue, RTYPEDDATA_DATA(queue), argv[0], prog, text, rb_ivar_get(self, id_formatter))) return Qtrue;
    }
    return rb_call_super_kw(argc, argv, RB_PASS_CALLED_KEYWORDS);
}

static VALUE
call(int level, int argc, VALUE *argv, VALUE self)
{
    if (argc != 1 || by_ruby()) return rb_call_super_kw(argc, argv, RB_PASS_CALLED_KEYWORDS);
    VALUE arguments[] = {INT2FIX(level), Qnil, argv[0]};
    return rb_funcallv(self, id_add, 3, arguments);
}

static VALUE calls_debug(int argc, VALUE *argv, VALUE self) { return call(0, argc, argv, self); }
static VALUE calls_info(int argc, VALUE *argv, VALUE self) { return call(1, argc, argv, self); }
static VALUE calls_warn(int argc, VALUE *argv, VALUE self) { return call(2, argc, argv, self); }
static VALUE calls_error(int argc, VALUE *argv, VALUE self) { return call(3, argc, argv, self); }
static VALUE calls_fatal(int argc, VALUE *argv, VALUE self) { return call(4, argc, argv, self); }
static VALUE calls_unknown(int argc, VALUE *argv, VALUE self) { return call(5, argc, argv, self); }

static void
init_calls(VALUE class)
{
    VALUE calls = rb_define_module_id_under(class, rb_intern("Calls"));
    id_add = rb_intern("add");
    id_level = rb_intern("level");
    id_handle = rb_intern("@handle");
    id_held = rb_intern("@held");
    id_lines = rb_intern("@lines");
    id_progname = rb_intern("@progname");
    id_formatter = rb_intern("@formatter");
    rb_define_singleton_method(calls, "step_aside", step_aside, 0);
    rb_define_method_id(calls, id_add, calls_add, -1);
    rb_define_method_id(calls, rb_intern("debug"), calls_debug, -1);
    rb_define_method_id(calls, rb_intern("info"), calls_info, -1);
    rb_define_method_id(calls, rb_intern("warn"), calls_warn, -1);
    rb_define_method_id(calls, rb_intern("error"), calls_error, -1);
    rb_define_method_id(calls, rb_intern("fatal"), calls_fatal, -1);
    rb_define_method_id(calls, rb_intern("unknown"), calls_unknown, -1);
}

/* By id, as in rows.c. */
void
gw_init_log_queue(VALUE native)
{
    VALUE class = rb_define_class_id_under(native, rb_intern("LogQueue"), rb_cObject);
    id_pop = rb_intern("pop");
    id_push = rb_intern("push");
    id_strftime = rb_intern("strftime");
    id_datetime_format = rb_intern("@datetime_format");
    id_key = rb_intern("@key");
    id_tags = rb_intern("@tags");
    rb_define_alloc_func(class, log_queue_alloc);
    rb_define_method_id(class, rb_intern("open"), log_queue_open, 4);
    rb_define_method_id(class, rb_intern("push"), log_queue_push, 2);
    rb_define_method_id(class, rb_intern("shift"), log_queue_shift, 0);
    rb_define_private_method(class, "_take", log_queue_take, 1);
    rb_define_private_method(class, "_waiters", log_queue_waiters, 0);
    rb_define_method_id(class, rb_intern("only_lines?"), log_queue_only_lines_p, 0);
    rb_define_method_id(class, rb_intern("close"), log_queue_close, 0);
    rb_define_method_id(class, rb_intern("closed?"), log_queue_closed_p, 0);
    rb_define_method_id(class, rb_intern("size"), log_queue_count, 0);
    rb_define_method_id(class, rb_intern("full?"), log_queue_full_p, 0);
    rb_define_method_id(class, rb_intern("roomy?"), log_queue_roomy_p, 0);
    rb_define_method_id(class, rb_intern("stalled="), log_queue_set_stalled, 1);
    rb_define_method_id(class, rb_intern("served="), log_queue_set_served, 1);
    rb_define_method_id(class, rb_intern("learn"), log_queue_learn, 4);
    rb_define_method_id(class, rb_intern("line"), log_queue_line, 4);
    init_calls(class);
}
