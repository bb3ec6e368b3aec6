/* Godwit::Proxy: a loop that moves messages between two sockets without Ruby's lock (law 12, ADR 12).
 *
 * While it runs its sockets are lent: every other use of them is refused under the GVL (gw_socket_open), so the loop alone calls
 * libzmq on them. It never blocks in libzmq. It sleeps in one place, on the sockets' descriptors and on its own eventfd, by which
 * everybody else speaks to it: set a bit of `control`, write the eventfd. A socket that is closed
 * meanwhile is marked, and released when the loop has left. */
#include "godwit.h"
#include <errno.h>
#include <poll.h>
#include <ruby/thread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum { FRONT, BACK, CAPTURE, PLACES };
enum { LARGE = 4096 };                                     /* bytes; frames that are smaller are not worth an account */
enum { BURST = 1000 };                                     /* messages one way before the other way has its turn, as zmq_proxy */
enum { STOP = 1, PAUSE = 2, CLOSED = 4, INTERRUPTED = 8 }; /* bits of control */

/* Written by the loop alone, read by anyone. */
typedef struct {
    atomic_ullong received, received_bytes, sent, sent_bytes;
} traffic_t;

/* How many bytes of large frames the back end's queues hold. Those frames may outlive the proxy. */
typedef struct {
    atomic_size_t held;
    atomic_uint references;       /* the proxy's, and one for each frame */
    size_t most;
} budget_t;

/* A large frame on its way to the back end: libzmq frees it when the last reader has it. */
typedef struct {
    zmq_msg_t frame;
    budget_t *budget;
} large_t;

/* One way through the proxy, and the message that it has in hand: at most one, taken whole and not yet sent. */
typedef struct {
    int from, to;                 /* places */
    bool live;                    /* the one can receive, the other send */
    bool captured;                /* the message in hand was copied to the capture socket */
    bool observed;                /* and told to the observer, which so counts what the capture socket got */
    bool counted;                 /* its large frames are in the budget */
    int count, capacity;          /* frames in hand, and initialised */
    size_t bytes;
    zmq_msg_t *parts;             /* owned */
    zmq_msg_t batch;              /* owned while `left`: the rest of a message that goes on as several */
    size_t offset;                /* of that rest */
    int left;                     /* messages in it */
} way_t;

typedef struct gw_proxy {
    VALUE sockets[PLACES];        /* Qnil: none; the back end may be the front end */
    gw_socket_t *native[PLACES];  /* borrowed from `sockets`, which keep them while we live */
    VALUE observer;               /* Qnil: none */
    gw_observer_t *told;          /* borrowed from `observer` */
    traffic_t traffic[PLACES];
    atomic_ullong dropped;        /* replies whose peer is gone: a ROUTER with mandatory; messages beyond the budget */
    budget_t *budget;             /* owned, shared with frames; NULL: none */
    way_t ways[2];
    atomic_int control;
    int wake_fd;                  /* owned eventfd */
    unsigned generation;
    int error;                    /* what ended the loop: an errno, or 0 */
    atomic_bool asleep;           /* the loop has nothing to do, and is in poll or about to be */
    bool running;                 /* the sockets are lent */
} gw_proxy_t;

/* ---- memory ---- */

static void
proxy_mark(void *pointer)
{
    gw_proxy_t *proxy = pointer;
    for (int i = 0; i < PLACES; i++) rb_gc_mark_movable(proxy->sockets[i]);
    rb_gc_mark_movable(proxy->observer);
}

static void
proxy_compact(void *pointer)
{
    gw_proxy_t *proxy = pointer;
    for (int i = 0; i < PLACES; i++) proxy->sockets[i] = rb_gc_location(proxy->sockets[i]);
    proxy->observer = rb_gc_location(proxy->observer);
}

static void
leave_budget(budget_t *budget)
{
    if (budget && atomic_fetch_sub(&budget->references, 1) == 1) free(budget);
}

/* Its thread holds it while it runs. */
static void
proxy_free(void *pointer)
{
    gw_proxy_t *proxy = pointer;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < proxy->ways[i].capacity; j++) zmq_msg_close(&proxy->ways[i].parts[j]);
        free(proxy->ways[i].parts);
        if (proxy->ways[i].left) zmq_msg_close(&proxy->ways[i].batch);
    }
    leave_budget(proxy->budget);
    if (proxy->wake_fd >= 0) close(proxy->wake_fd);
    xfree(proxy);
}

static size_t
proxy_size(const void *pointer)
{
    const gw_proxy_t *proxy = pointer;
    return sizeof *proxy + (proxy->ways[0].capacity + proxy->ways[1].capacity) * sizeof(zmq_msg_t);
}

static const rb_data_type_t proxy_type = {
    .wrap_struct_name = "Godwit::Proxy",
    .function = {.dmark = proxy_mark, .dfree = proxy_free, .dsize = proxy_size, .dcompact = proxy_compact},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE
proxy_alloc(VALUE class)
{
    gw_proxy_t *proxy;
    VALUE self = TypedData_Make_Struct(class, gw_proxy_t, &proxy_type, proxy);
    for (int i = 0; i < PLACES; i++) proxy->sockets[i] = Qnil;
    proxy->observer = Qnil;
    proxy->wake_fd = -1;
    return self;
}

static gw_proxy_t *
get(VALUE self, const char *operation)
{
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    if (proxy->wake_fd < 0) gw_raise_closed(operation, self);
    if (proxy->generation != atomic_load(&gw_generation)) gw_raise_forked(operation, self);
    return proxy;
}

/* ---- control: from any thread, from signal handlers ---- */

static void
tell(gw_proxy_t *proxy, int bits)
{
    uint64_t one = 1;
    atomic_fetch_or(&proxy->control, bits);
    ssize_t written = write(proxy->wake_fd, &one, sizeof one);
    (void)written;
}

static void
interrupt(void *argument)
{
    tell(argument, INTERRUPTED);
}

void
gw_proxy_end(gw_proxy_t *proxy)
{
    tell(proxy, CLOSED);
}

/* ---- one message; from here on to the loop's end nothing may touch Ruby ---- */

static inline void
add(atomic_ullong *counter, unsigned long long count)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + count, memory_order_relaxed);
}

static int
send_copy(gw_socket_t *to, zmq_msg_t *part, int flags)
{
    zmq_msg_t copy;
    zmq_msg_init(&copy);
    int error = zmq_msg_copy(&copy, part) == 0 ? gw_send_frame(to, &copy, flags) : errno;
    if (error) zmq_msg_close(&copy);
    return error;
}

/* All or nothing: EAGAIN means that nothing of it went. A peer that vanishes in mid-message takes the first frames with it; then
 * it starts again from the first, as in send.c (ADR 3), so all but the last go as copies. The last one too with `keep`. */
static int
send_whole(gw_socket_t *to, zmq_msg_t *parts, int count, bool keep)
{
    for (;;) {
        int error = 0, i;
        for (i = 0; i < count; i++) {
            int flags = i + 1 < count ? ZMQ_SNDMORE : 0;
            error = keep || flags ? send_copy(to, &parts[i], flags) : gw_send_frame(to, &parts[i], flags);
            if (error) break;
        }
        if (error != EAGAIN || i == 0) return error;
        if (to->type != ZMQ_PUSH && to->type != ZMQ_DEALER) continue;
        for (int left = count - i - 1; left > 0; left--) { /* libzmq throws these away */
            zmq_msg_t empty;
            zmq_msg_init(&empty);
            if (gw_send_frame(to, &empty, left > 1 ? ZMQ_SNDMORE : 0)) zmq_msg_close(&empty);
        }
    }
}

static void
let_go(way_t *way)
{
    for (int i = 0; i < way->count; i++) {
        zmq_msg_close(&way->parts[i]);
        zmq_msg_init(&way->parts[i]);
    }
    way->count = 0;
}

static bool
more_room(way_t *way)
{
    int capacity = way->capacity ? 2 * way->capacity : 4;
    zmq_msg_t *parts = realloc(way->parts, capacity * sizeof *parts);
    if (!parts) return false;
    way->parts = parts;
    while (way->capacity < capacity) zmq_msg_init(&parts[way->capacity++]);
    return true;
}

/* Takes the next message out of a batch; gives an errno. */
static int
take_from_batch(gw_proxy_t *proxy, way_t *way)
{
    int count = proxy->told->next(&way->batch, &way->offset, way->parts);
    if (!count) return ENOMEM;
    for (way->count = 0; way->count < count; way->count++) way->bytes += zmq_msg_size(&way->parts[way->count]);
    if (--way->left == 0) zmq_msg_close(&way->batch);
    return 0;
}

/* Takes one message whole; gives an errno. */
static int
take(gw_proxy_t *proxy, way_t *way)
{
    gw_socket_t *from = proxy->native[way->from];
    way->bytes = 0;
    way->captured = way->observed = way->counted = false;
    if (way->left) return take_from_batch(proxy, way);
    do {
        if (way->count == way->capacity && !more_room(way)) return ENOMEM;
        int error = gw_receive_frame(from, &way->parts[way->count]);
        if (error) {
            let_go(way); /* in mid-message only when the context ends */
            return error;
        }
        way->bytes += zmq_msg_size(&way->parts[way->count]);
    } while (zmq_msg_more(&way->parts[way->count++]));
    way->left = proxy->told ? proxy->told->count(way->parts, way->count) : 0;
    add(&proxy->traffic[way->from].received, way->left ? way->left : 1);
    add(&proxy->traffic[way->from].received_bytes, way->bytes);
    if (!way->left) return 0;
    zmq_msg_init(&way->batch);
    zmq_msg_move(&way->batch, &way->parts[way->count - 1]);
    let_go(way);
    way->offset = way->bytes = 0;
    return take_from_batch(proxy, way);
}

static void
free_large(void *data, void *hint)
{
    large_t *large = hint;
    (void)data;
    atomic_fetch_sub(&large->budget->held, zmq_msg_size(&large->frame));
    zmq_msg_close(&large->frame);
    leave_budget(large->budget);
    free(large);
}

/* Puts the frame into one that takes its bytes out of the budget when libzmq frees it. Without memory it stays uncounted. */
static void
count_frame(budget_t *budget, zmq_msg_t *part)
{
    size_t size = zmq_msg_size(part);
    large_t *large = size >= LARGE ? malloc(sizeof *large) : NULL;
    if (!large) return;
    zmq_msg_init(&large->frame);
    zmq_msg_move(&large->frame, part);
    large->budget = budget;
    atomic_fetch_add(&budget->references, 1);
    atomic_fetch_add(&budget->held, size);
    zmq_msg_close(part);
    if (zmq_msg_init_data(part, zmq_msg_data(&large->frame), size, free_large, large) == 0) return;
    zmq_msg_init(part);
    zmq_msg_move(part, &large->frame);
    free_large(NULL, large); /* of a frame that is empty now */
    atomic_fetch_sub(&budget->held, size);
}

/* Whether the large frames in hand fit; then they are counted. */
static bool
within_budget(budget_t *budget, way_t *way)
{
    size_t bytes = 0;
    if (way->counted) return true;
    for (int i = 0; i < way->count; i++) {
        size_t size = zmq_msg_size(&way->parts[i]);
        if (size >= LARGE) bytes += size;
    }
    if (bytes && atomic_load(&budget->held) + bytes > budget->most) return false;
    for (int i = 0; bytes && i < way->count; i++) count_frame(budget, &way->parts[i]);
    way->counted = true;
    return true;
}

/* Sends what is in hand; gives an errno. EAGAIN: it stays in hand. */
static int
pass(gw_proxy_t *proxy, way_t *way)
{
    int error;
    if (proxy->native[CAPTURE] && !way->captured) {
        error = send_whole(proxy->native[CAPTURE], way->parts, way->count, true);
        if (error) return error;
        way->captured = true;
        add(&proxy->traffic[CAPTURE].sent, 1);
        add(&proxy->traffic[CAPTURE].sent_bytes, way->bytes);
    }
    if (proxy->told && !way->observed) {
        proxy->told->observe(proxy->told, way->parts, way->count, way->bytes);
        way->observed = true;
    }
    if (proxy->budget && way->to == BACK && !within_budget(proxy->budget, way)) error = ENOBUFS;
    else error = send_whole(proxy->native[way->to], way->parts, way->count, false);
    if (error == EHOSTUNREACH || error == ENOBUFS) {
        add(&proxy->dropped, 1); /* one peer that left, or does not read, is no reason to fail all others */
        error = 0;
    }
    else if (!error) {
        add(&proxy->traffic[way->to].sent, 1);
        add(&proxy->traffic[way->to].sent_bytes, way->bytes);
    }
    if (!error) let_go(way);
    return error;
}

/* ---- the loop ---- */

/* One way's turn; gives an errno. Nothing is taken that has nowhere to go, as far as libzmq can tell beforehand: then high-water
 * marks hold the senders back. */
static int
take_turn(gw_proxy_t *proxy, way_t *way, const int *events, bool *progress)
{
    int error;
    if (way->count) {
        error = pass(proxy, way);
        if (!error) *progress = true;
        return error == EAGAIN ? 0 : error;
    }
    if (!way->left && (!way->live || !(events[way->from] & ZMQ_POLLIN))) return 0;
    bool echoes = way->from == way->to; /* a REP has room once it has taken a request */
    if (!echoes && !(events[way->to] & ZMQ_POLLOUT)) return 0;
    if (proxy->native[CAPTURE] && !(events[CAPTURE] & ZMQ_POLLOUT)) return 0;
    *progress = true;
    for (int i = 0; i < BURST; i++) {
        if (atomic_load_explicit(&proxy->control, memory_order_relaxed)) return 0;
        error = take(proxy, way);
        if (!error) error = pass(proxy, way);
        if (error) return error == EAGAIN ? 0 : error;
    }
    return 0;
}

/* Asks all for ZMQ_EVENTS, which also empties their mailboxes; gives an errno. What a socket that only sends gets are
 * subscriptions, which would pile up. */
static int
look(gw_proxy_t *proxy, int *events, bool *progress)
{
    for (int i = 0; i < PLACES; i++) {
        gw_socket_t *socket = proxy->native[i];
        if (!socket) continue;
        events[i] = gw_socket_events(socket);
        if (events[i] < 0) return errno;
        if (!(events[i] & ZMQ_POLLIN) || !(socket->publisher || (i == CAPTURE && socket->type == ZMQ_XPUB))) continue;
        int error = gw_drain_subscriptions(socket);
        if (error != EAGAIN && error != EINTR) return error;
        *progress = true;
    }
    return 0;
}

static bool
any_edge(gw_proxy_t *proxy)
{
    bool any = false;
    for (int i = 0; i < PLACES; i++) {
        if (proxy->native[i] && gw_edge_passed(proxy->native[i])) any = true; /* all are asked: asking forgets */
    }
    return any;
}

static void
go_to_sleep(gw_proxy_t *proxy)
{
    struct pollfd fds[PLACES + 1];
    for (int i = 0; i < PLACES; i++) fds[i] = (struct pollfd){.fd = proxy->native[i] ? proxy->native[i]->fd : -1, .events = POLLIN};
    fds[PLACES] = (struct pollfd){.fd = proxy->wake_fd, .events = POLLIN};
    atomic_store(&proxy->asleep, true);
    int ready = poll(fds, PLACES + 1, -1);
    atomic_store(&proxy->asleep, false);
    if (ready <= 0 || !fds[PLACES].revents) return;
    uint64_t count;
    ssize_t got = read(proxy->wake_fd, &count, sizeof count); /* before control is looked at: no word is lost */
    (void)got;
}

/* It may sleep when the last call on each socket was a look at its events that found nothing to do. With a message in hand a
 * try to send comes after that look, and either may swallow what the other waits for (a ROUTER with mandatory: ZMQ_EVENTS does
 * not tell which of its peers has room). So then it sleeps only after a turn in which nobody wrote or read a mailbox. */
static void *
loop(void *argument)
{
    gw_proxy_t *proxy = argument;
    proxy->error = 0;
    for (;;) {
        int events[PLACES] = {0}, error, control = atomic_load(&proxy->control);
        bool progress = false, in_hand = !(control & PAUSE) && (proxy->ways[0].count || proxy->ways[1].count);
        if (control & ~PAUSE) return NULL;
        if (in_hand) any_edge(proxy);
        error = look(proxy, events, &progress);
        for (int i = 0; i < 2 && !error && !(control & PAUSE); i++) error = take_turn(proxy, &proxy->ways[i], events, &progress);
        if (error) {
            proxy->error = error;
            return NULL;
        }
        if (!progress && !(in_hand && any_edge(proxy))) go_to_sleep(proxy);
    }
}

/* ---- primitives ---- */

static bool
receives(const gw_socket_t *socket)
{
    return socket->type != ZMQ_PUSH && socket->type != ZMQ_PUB && !socket->publisher;
}

static bool
sends(const gw_socket_t *socket)
{
    return socket->type != ZMQ_PULL && socket->type != ZMQ_SUB;
}

/* _open(front end, back end, capture or nil); Ruby has checked their types */
static VALUE
proxy_open(VALUE self, VALUE front, VALUE back, VALUE capture)
{
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    VALUE sockets[PLACES] = {front, back, capture};
    if (proxy->wake_fd >= 0) rb_raise(rb_eRuntimeError, "this proxy is open already");
    for (int i = 0; i < PLACES; i++) {
        if (i != CAPTURE || !NIL_P(sockets[i])) gw_socket_open(sockets[i], "proxy");
    }
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) gw_raise(errno, "proxy", self, Qnil);
    for (int i = 0; i < PLACES; i++) {
        RB_OBJ_WRITE(self, &proxy->sockets[i], sockets[i]);
        proxy->native[i] = NIL_P(sockets[i]) ? NULL : RTYPEDDATA_DATA(sockets[i]);
    }
    for (int i = 0; i < 2; i++) {
        way_t *way = &proxy->ways[i];
        way->from = i == 0 ? FRONT : BACK;
        way->to = i == 0 ? BACK : FRONT;
        way->live = receives(proxy->native[way->from]) && sends(proxy->native[way->to]) && !(i == 1 && front == back);
    }
    if (front == back) {
        proxy->native[BACK] = NULL; /* one socket, looked at once */
        proxy->ways[0].to = FRONT;
    }
    proxy->generation = atomic_load(&gw_generation);
    proxy->wake_fd = fd;
    return self;
}

/* An observer's struct begins with a gw_observer_t. */
const rb_data_type_t gw_observer_type = {.wrap_struct_name = "Godwit observer"};

/* _observe(observer): it is told of each message from now on; not while the proxy runs */
static VALUE
proxy_observe(VALUE self, VALUE observer)
{
    gw_proxy_t *proxy = get(self, "proxy");
    gw_observer_t *told = rb_check_typeddata(observer, &gw_observer_type);
    if (!told->observe) rb_raise(rb_eRuntimeError, "this observer was never opened");
    if (told->generation != atomic_load(&gw_generation)) gw_raise_forked("proxy", observer);
    if (proxy->running) gw_raise_busy("proxy", self);
    RB_OBJ_WRITE(self, &proxy->observer, observer);
    proxy->told = told;
    return self;
}

/* _bound(bytes): of large frames that the back end's queues hold; a message beyond that is dropped; not while it runs */
static VALUE
proxy_bound(VALUE self, VALUE bytes)
{
    gw_proxy_t *proxy = get(self, "proxy");
    size_t most = NUM2SIZET(bytes);
    if (proxy->running) gw_raise_busy("proxy", self);
    budget_t *budget = malloc(sizeof *budget);
    if (!budget) rb_memerror();
    atomic_init(&budget->held, 0);
    atomic_init(&budget->references, 1);
    budget->most = most;
    leave_budget(proxy->budget);
    proxy->budget = budget;
    return self;
}

/* _lend => true; false when it runs already. Takes all sockets or none. */
static VALUE
proxy_lend(VALUE self)
{
    gw_proxy_t *proxy = get(self, "proxy");
    if (proxy->running) return Qfalse;
    for (int i = 0; i < PLACES; i++) {
        if (NIL_P(proxy->sockets[i])) continue;
        gw_socket_t *socket = gw_socket_open(proxy->sockets[i], "proxy");
        if (socket->line.first) gw_raise_busy("proxy", proxy->sockets[i]); /* who waits calls libzmq when he wakes */
    }
    for (int i = 0; i < PLACES; i++) {
        gw_socket_t *socket = proxy->native[i];
        if (!socket) continue;
        size_t size = sizeof socket->lent_linger;
        gw_peers_stop(socket);
        if (zmq_getsockopt(socket->zmq, ZMQ_LINGER, &socket->lent_linger, &size) != 0) socket->lent_linger = 0;
        socket->state = GW_LENT;
        socket->sent = true; /* about to */
        socket->proxy = proxy;
    }
    atomic_fetch_and(&proxy->control, PAUSE);
    proxy->running = true;
    return Qtrue;
}

/* _give_back: the sockets are the caller's again; those closed meanwhile are closed now. A second call does nothing. */
static VALUE
proxy_give_back(VALUE self)
{
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    if (!proxy->running || proxy->generation != atomic_load(&gw_generation)) return Qnil;
    proxy->running = false;
    for (int i = 0; i < PLACES; i++) {
        gw_socket_t *socket = proxy->native[i];
        if (!socket) continue;
        socket->proxy = NULL;
        if (socket->state == GW_LENT) socket->state = GW_OPEN;
        gw_wake_all(socket); /* pollers did not ask it meanwhile */
        if (socket->state != GW_CLOSING) continue;
        gw_monitor_end(socket); /* its readers leave, and the last of them releases it */
        gw_wake_readers(socket);
        gw_socket_left(socket);
    }
    return Qnil;
}

/* _loop: until it is stopped (nil), one of its sockets or their context is closed, or this thread is interrupted (raises) */
static VALUE
proxy_loop(VALUE self)
{
    gw_proxy_t *proxy = get(self, "proxy");
    for (;;) {
        proxy->error = 0;
        rb_thread_check_ints();
        get(self, "proxy"); /* a trap handler may have forked */
        rb_nogvl(loop, proxy, interrupt, proxy, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
        int control = atomic_fetch_and(&proxy->control, ~INTERRUPTED);
        if (control & CLOSED) gw_raise_closed("proxy", self);
        if (proxy->error) gw_raise(proxy->error, "proxy", self, Qnil);
        if (control & STOP) return Qnil;
    }
}

static VALUE
proxy_stop(VALUE self)
{
    gw_proxy_t *proxy = get(self, "stop");
    if (proxy->running) tell(proxy, STOP);
    return Qnil;
}

static VALUE
proxy_set_paused(VALUE self, VALUE paused)
{
    gw_proxy_t *proxy = get(self, RTEST(paused) ? "pause" : "resume");
    if (!RTEST(paused)) atomic_fetch_and(&proxy->control, ~PAUSE);
    tell(proxy, RTEST(paused) ? PAUSE : 0);
    return Qnil;
}

static VALUE
proxy_paused_p(VALUE self)
{
    return RBOOL(atomic_load(&get(self, "paused?")->control) & PAUSE);
}

static VALUE
proxy_running_p(VALUE self)
{
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    return RBOOL(proxy->running && proxy->generation == atomic_load(&gw_generation));
}

static VALUE
proxy_forked_p(VALUE self)
{
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    return RBOOL(proxy->wake_fd >= 0 && proxy->generation != atomic_load(&gw_generation));
}

/* _waiters => 1 while its loop sleeps, else 0 */
static VALUE
proxy_waiters(VALUE self)
{
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    return INT2FIX(atomic_load(&proxy->asleep));
}

/* _counters => for each place received, its bytes, sent, its bytes; then dropped */
static VALUE
proxy_counters(VALUE self)
{
    gw_proxy_t *proxy = get(self, "statistics");
    VALUE counters = rb_ary_new_capa(4 * PLACES + 1);
    for (int i = 0; i < PLACES; i++) {
        traffic_t *traffic = &proxy->traffic[i == BACK && !proxy->native[BACK] ? FRONT : i];
        rb_ary_push(counters, ULL2NUM(atomic_load(&traffic->received)));
        rb_ary_push(counters, ULL2NUM(atomic_load(&traffic->received_bytes)));
        rb_ary_push(counters, ULL2NUM(atomic_load(&traffic->sent)));
        rb_ary_push(counters, ULL2NUM(atomic_load(&traffic->sent_bytes)));
    }
    rb_ary_push(counters, ULL2NUM(atomic_load(&proxy->dropped)));
    return counters;
}

void
gw_init_proxy(void)
{
    VALUE class = rb_define_class_under(gw_mGodwit, "Proxy", rb_cObject);
    rb_define_alloc_func(class, proxy_alloc);
    rb_define_private_method(class, "_open", proxy_open, 3);
    rb_define_private_method(class, "_observe", proxy_observe, 1);
    rb_define_private_method(class, "_bound", proxy_bound, 1);
    rb_define_private_method(class, "_lend", proxy_lend, 0);
    rb_define_private_method(class, "_give_back", proxy_give_back, 0);
    rb_define_private_method(class, "_loop", proxy_loop, 0);
    rb_define_private_method(class, "_stop", proxy_stop, 0);
    rb_define_private_method(class, "_set_paused", proxy_set_paused, 1);
    rb_define_private_method(class, "_paused?", proxy_paused_p, 0);
    rb_define_private_method(class, "_running?", proxy_running_p, 0);
    rb_define_private_method(class, "_forked?", proxy_forked_p, 0);
    rb_define_private_method(class, "_counters", proxy_counters, 0);
    rb_define_private_method(class, "_waiters", proxy_waiters, 0);
}
