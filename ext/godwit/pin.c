/* Strings that libzmq sends in place (law 6, ADR 10), and Godwit::Tracker. A pin keeps the garbage
 * collector from freeing or moving one String. Pins and trackers are atomic and need no lock: any
 * Ractor adds a pin, libzmq's threads set it done, and a sweep unlinks done pins. */
#include "frame.h"
#include <stdlib.h>
#include <sys/eventfd.h>

enum { SWEEP_EVERY = 64 /* new pins between two sweeps */ };

/* One tracked send. `refs` counts its Ruby object and each pin that the tracker waits for. */
struct gw_tracker {
    atomic_int refs;
    atomic_int pending; /* pins that are not done, and 1 while the send is under way */
    int fd;             /* owned eventfd, readable once nothing is pending */
};

typedef struct watch {
    struct watch *next;
    gw_tracker_t *tracker; /* retained */
} watch_t;

struct gw_pin {
    struct gw_pin *next;        /* borrowed: the next pin in the list `pins` */
    VALUE string;               /* marked and never moved until the pin is done */
    _Atomic(watch_t *) watches; /* owned: the pin's trackers; &done once libzmq freed the message */
    atomic_int refs;            /* references of the list, of libzmq and of frames */
};

static watch_t done;
static _Atomic(gw_pin_t *) pins;
static atomic_flag sweeping = ATOMIC_FLAG_INIT;
static atomic_int since_sweep;
static VALUE registry;

/* ---- trackers; libzmq's threads call these functions, which use no Ruby object ---- */

static void pin_tracker_release(gw_tracker_t *tracker) {
    if (atomic_fetch_sub(&tracker->refs, 1) != 1) return;
    close(tracker->fd);
    free(tracker);
}

static void pin_tracker_finish_one(gw_tracker_t *tracker) {
    if (atomic_fetch_sub(&tracker->pending, 1) == 1) gw_event_signal(tracker->fd);
}

void gw_pin_release(gw_pin_t *pin) {
    if (atomic_fetch_sub_explicit(&pin->refs, 1, memory_order_acq_rel) == 1) free(pin);
}

static bool pin_is_done(gw_pin_t *pin) {
    return atomic_load_explicit(&pin->watches, memory_order_acquire) == &done;
}

static void pin_unpin(void *data, void *hint) {
    gw_pin_t *pin = hint;
    watch_t *next, *watch = atomic_exchange_explicit(&pin->watches, &done, memory_order_acq_rel);
    for (; watch; watch = next) {
        next = watch->next;
        pin_tracker_finish_one(watch->tracker);
        pin_tracker_release(watch->tracker);
        free(watch);
    }
    gw_pin_release(pin);
}

/* Releases the done pins of a list, and returns the others. */
static gw_pin_t *pin_without_done(gw_pin_t *list, gw_pin_t **last) {
    gw_pin_t *pending = NULL, *next;
    *last = NULL;
    for (gw_pin_t *pin = list; pin; pin = next) {
        next = pin->next;
        if (pin_is_done(pin)) {
            gw_pin_release(pin);
            continue;
        }
        pin->next = pending;
        if (!pending) *last = pin;
        pending = pin;
    }
    return pending;
}

static void pin_push(gw_pin_t *first, gw_pin_t *last) {
    last->next = atomic_load_explicit(&pins, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
            &pins, &last->next, first, memory_order_release, memory_order_relaxed))
        continue;
}

/* No garbage collection begins here: a sweep allocates no object and does not give up the GVL. */
static void pin_sweep(void) {
    gw_pin_t *last;
    if (atomic_flag_test_and_set_explicit(&sweeping, memory_order_acquire)) return;
    atomic_store_explicit(&since_sweep, 0, memory_order_relaxed);
    gw_pin_t *first =
            pin_without_done(atomic_exchange_explicit(&pins, NULL, memory_order_acquire), &last);
    if (first) pin_push(first, last);
    atomic_flag_clear_explicit(&sweeping, memory_order_release);
}

/* Returns whether the address of a String's bytes cannot change while the String lives and is not
 * moved. The address is fixed if the String is frozen, and the bytes are in a heap block of the
 * String or of another frozen String that it references. */
bool gw_can_pin(VALUE string) {
    if (!OBJ_FROZEN(string) || !FL_TEST_RAW(string, RSTRING_NOEMBED)) return false;
    if (!FL_TEST_RAW(string, ELTS_SHARED)) return true;
    VALUE root = RSTRING(string)->as.heap.aux.shared;
    return RB_TYPE_P(root, T_STRING) && OBJ_FROZEN(root) && FL_TEST_RAW(root, RSTRING_NOEMBED);
}

/* Makes a message of the String's own bytes; returns an errno. */
int gw_pin_message(zmq_msg_t *message, VALUE string, gw_pin_t **made) {
    gw_pin_t *pin = malloc(sizeof *pin);
    if (!pin) return ENOMEM;
    pin->string = string;
    atomic_init(&pin->watches, NULL);
    atomic_init(&pin->refs, 2);
    if (zmq_msg_init_data(message, RSTRING_PTR(string), RSTRING_LEN(string), pin_unpin, pin) != 0) {
        int error = zmq_errno();
        free(pin);
        return error;
    }
    pin_push(pin, pin);
    if (made) *made = pin;
    if (atomic_fetch_add_explicit(&since_sweep, 1, memory_order_relaxed) >= SWEEP_EVERY)
        pin_sweep();
    return 0;
}

void gw_pin_retain(gw_pin_t *pin) {
    atomic_fetch_add_explicit(&pin->refs, 1, memory_order_relaxed);
}

/* Makes the tracker wait for the pin; returns an errno. */
int gw_pin_watch(gw_pin_t *pin, gw_tracker_t *tracker) {
    watch_t *watch = malloc(sizeof *watch);
    if (!watch) return ENOMEM;
    watch->tracker = tracker;
    watch->next = atomic_load(&pin->watches);
    atomic_fetch_add(&tracker->refs, 1);
    atomic_fetch_add(&tracker->pending, 1);
    while (watch->next != &done) {
        if (atomic_compare_exchange_weak(&pin->watches, &watch->next, watch)) return 0;
    }
    pin_tracker_finish_one(tracker);
    pin_tracker_release(tracker);
    free(watch);
    return 0;
}

/* ---- the registry, an object that marks the pinned Strings ---- */

/* Marks the pinned Strings: libzmq has their addresses, so none may move. Only the sweep unlinks
 * done pins, since Ruby may call this function at any time to verify the heap. */
static void pin_registry_mark(void *unused) {
    for (gw_pin_t *pin = atomic_load(&pins); pin; pin = pin->next) {
        if (!pin_is_done(pin)) rb_gc_mark(pin->string);
    }
}

static size_t pin_registry_size(const void *unused) {
    size_t size = 0;
    for (gw_pin_t *pin = atomic_load(&pins); pin; pin = pin->next) size += sizeof *pin;
    return size;
}

static const rb_data_type_t registry_type = {
        .wrap_struct_name = "Godwit pins",
        /* The registry needs no dfree, since it is never collected, and no dcompact, since
         * rb_gc_mark keeps the Strings in place. */
        .function = {.dmark = pin_registry_mark, .dsize = pin_registry_size},
};

/* _pins => [pins that are not done, all pins], for tests */
static VALUE pin_count_pins(VALUE self) {
    long pending = 0, all = 0;
    for (gw_pin_t *pin = atomic_load(&pins); pin; pin = pin->next, all++)
        pending += !pin_is_done(pin);
    return rb_ary_new_from_args(2, LONG2NUM(pending), LONG2NUM(all));
}

static void pin_after_fork(void) { atomic_flag_clear(&sweeping); }

static void pin_tracker_free(void *pointer) {
    if (pointer) pin_tracker_release(pointer);
}

static size_t pin_tracker_size(const void *pointer) { return pointer ? sizeof(gw_tracker_t) : 0; }

static const rb_data_type_t tracker_type = {
        .wrap_struct_name = "Godwit::Tracker",
        /* The type needs no dmark and no dcompact, since a tracker has no VALUE. */
        .function = {.dfree = pin_tracker_free, .dsize = pin_tracker_size},
        .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_FROZEN_SHAREABLE,
};

static VALUE pin_tracker_alloc(VALUE class) {
    return TypedData_Wrap_Struct(class, &tracker_type, NULL);
}

gw_tracker_t *gw_tracker_get(VALUE self) {
    gw_tracker_t *tracker = rb_check_typeddata(self, &tracker_type);
    if (!tracker)
        gw_raise_detail("StateError", "tracker",
                "no send gave this tracker: send(…, track: true) gives one");
    return tracker;
}

/* _open: the tracker is pending until the send calls _sent */
static VALUE pin_tracker_open(VALUE self) {
    if (rb_check_typeddata(self, &tracker_type))
        rb_raise(rb_eRuntimeError, "this tracker is in use already");
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) gw_raise(errno, "send", self, Qnil);
    gw_tracker_t *tracker = malloc(sizeof *tracker);
    if (!tracker) {
        close(fd);
        rb_memerror();
    }
    atomic_init(&tracker->refs, 1);
    atomic_init(&tracker->pending, 1);
    tracker->fd = fd;
    RTYPEDDATA_DATA(self) = tracker;
    return self;
}

/* _sent: the message was sent; from here on the tracker waits only for pins */
static VALUE pin_tracker_sent(VALUE self) {
    pin_tracker_finish_one(gw_tracker_get(self));
    return self;
}

static VALUE pin_tracker_done_p(VALUE self) {
    return RBOOL(atomic_load(&gw_tracker_get(self)->pending) == 0);
}

static VALUE pin_tracker_wait(VALUE self, VALUE timeout) {
    return RBOOL(gw_wait_fd(self, "wait", gw_tracker_get(self)->fd,
            gw_deadline(gw_milliseconds(timeout, GW_FOREVER))));
}

void gw_init_pin(void) {
    gw_after_fork(pin_after_fork);
    VALUE class = rb_define_class_under(gw_mGodwit, "Tracker", rb_cObject);
    rb_define_alloc_func(class, pin_tracker_alloc);
    rb_define_private_method(class, "_open", pin_tracker_open, 0);
    rb_define_private_method(class, "_sent", pin_tracker_sent, 0);
    rb_define_private_method(class, "_done?", pin_tracker_done_p, 0);
    rb_define_private_method(class, "_wait", pin_tracker_wait, 1);
    registry = TypedData_Wrap_Struct(rb_cObject, &registry_type, &registry);
    rb_gc_register_mark_object(registry);
    rb_define_private_method(rb_singleton_class(class), "_pins", pin_count_pins, 0);
}
