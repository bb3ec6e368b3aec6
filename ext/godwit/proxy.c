/* Godwit::Proxy: the Ruby object over proxy_loop.c. While the loop runs, gw_socket_open refuses
 * every other use of its sockets. A socket that is closed while the loop runs is released when the
 * loop has ended. Every function but proxy_interrupt needs the GVL. */
#include "proxy.h"
#include <ruby/thread.h>
#include <stdlib.h>
#include <sys/eventfd.h>

static void proxy_mark(void *pointer) {
    gw_proxy_t *proxy = pointer;
    for (int i = 0; i < GW_SIDES; i++) rb_gc_mark_movable(proxy->sockets[i]);
    rb_gc_mark_movable(proxy->observer);
}

static void proxy_compact(void *pointer) {
    gw_proxy_t *proxy = pointer;
    for (int i = 0; i < GW_SIDES; i++) proxy->sockets[i] = rb_gc_location(proxy->sockets[i]);
    proxy->observer = rb_gc_location(proxy->observer);
}

static void proxy_free(void *pointer) {
    gw_proxy_t *proxy = pointer;
    for (int i = 0; i < 2; i++) {
        for (int j = 0; j < proxy->directions[i].capacity; j++)
            zmq_msg_close(&proxy->directions[i].frames[j]);
        free(proxy->directions[i].frames);
        if (proxy->directions[i].remaining) zmq_msg_close(&proxy->directions[i].batch);
    }
    gw_budget_release(proxy->budget);
    if (proxy->control.wake_fd >= 0) close(proxy->control.wake_fd);
    xfree(proxy);
}

static size_t proxy_size(const void *pointer) {
    const gw_proxy_t *proxy = pointer;
    return sizeof *proxy +
            (proxy->directions[0].capacity + proxy->directions[1].capacity) * sizeof(zmq_msg_t);
}

static const rb_data_type_t proxy_type = {
        .wrap_struct_name = "Godwit::Proxy",
        .function = {proxy_mark, proxy_free, proxy_size, proxy_compact},
        .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE proxy_alloc(VALUE class) {
    gw_proxy_t *proxy;
    VALUE self = TypedData_Make_Struct(class, gw_proxy_t, &proxy_type, proxy);
    for (int i = 0; i < GW_SIDES; i++) proxy->sockets[i] = Qnil;
    proxy->observer = Qnil;
    proxy->control.wake_fd = -1;
    return self;
}

static gw_proxy_t *proxy_get(VALUE self, const char *operation) {
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    if (proxy->control.wake_fd < 0) gw_raise_closed(operation, self);
    if (gw_forked(proxy->generation)) gw_raise_forked(operation, self);
    return proxy;
}

static void proxy_interrupt(void *argument) {
    gw_proxy_t *proxy = argument;
    gw_proxy_signal(&proxy->control, GW_PROXY_INTERRUPTED);
}

static bool proxy_receives(const gw_socket_t *socket) {
    return socket->type != ZMQ_PUSH && socket->type != ZMQ_PUB && !socket->publisher;
}

static bool proxy_sends(const gw_socket_t *socket) {
    return socket->type != ZMQ_PULL && socket->type != ZMQ_SUB;
}

/* _open(front end, back end, capture or nil): three sockets, whose types Ruby code has checked */
static VALUE proxy_open(VALUE self, VALUE front, VALUE back, VALUE capture) {
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    VALUE sockets[GW_SIDES] = {front, back, capture};
    if (proxy->control.wake_fd >= 0) rb_raise(rb_eRuntimeError, "this proxy is open already");
    for (int i = 0; i < GW_SIDES; i++) {
        if (i != GW_CAPTURE || !NIL_P(sockets[i])) gw_socket_open(sockets[i], "proxy");
    }
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) gw_raise(errno, "proxy", self, Qnil);
    for (int i = 0; i < GW_SIDES; i++) {
        RB_OBJ_WRITE(self, &proxy->sockets[i], sockets[i]);
        proxy->native[i] = NIL_P(sockets[i]) ? NULL : RTYPEDDATA_DATA(sockets[i]);
    }
    for (int i = 0; i < 2; i++) {
        gw_direction_t *direction = &proxy->directions[i];
        direction->from = i == 0 ? GW_FRONT : GW_BACK;
        direction->to = i == 0 ? GW_BACK : GW_FRONT;
        direction->live = proxy_receives(proxy->native[direction->from]) &&
                proxy_sends(proxy->native[direction->to]) && !(i == 1 && front == back);
    }
    if (front == back) {
        proxy->native[GW_BACK] = NULL; /* both sides are one socket, which the loop polls once */
        proxy->directions[0].to = GW_FRONT;
    }
    proxy->generation = atomic_load(&gw_generation);
    proxy->control.wake_fd = fd;
    return self;
}

/* The struct of an observer begins with a gw_observer_t. */
const rb_data_type_t gw_observer_type = {.wrap_struct_name = "Godwit observer"};

/* _observe(observer): the proxy reports each message to the observer from now on; raises while the
 * proxy runs */
static VALUE proxy_observe(VALUE self, VALUE observer) {
    gw_proxy_t *proxy = proxy_get(self, "proxy");
    gw_observer_t *observing = rb_check_typeddata(observer, &gw_observer_type);
    if (!observing->observe) rb_raise(rb_eRuntimeError, "this observer was never opened");
    if (gw_forked(observing->generation)) gw_raise_forked("proxy", observer);
    if (proxy->running) gw_raise_busy("proxy", self);
    RB_OBJ_WRITE(self, &proxy->observer, observer);
    proxy->observing = observing;
    return self;
}

/* _bound(most bytes of large frames in the back end's queues): the proxy drops messages that exceed
 * the limit; raises while the proxy runs */
static VALUE proxy_bound(VALUE self, VALUE bytes) {
    gw_proxy_t *proxy = proxy_get(self, "proxy");
    size_t most = NUM2SIZET(bytes);
    if (proxy->running) gw_raise_busy("proxy", self);
    gw_budget_t *budget = malloc(sizeof *budget);
    if (!budget) rb_memerror();
    atomic_init(&budget->used, 0);
    atomic_init(&budget->references, 1);
    budget->most = most;
    gw_budget_release(proxy->budget);
    proxy->budget = budget;
    return self;
}

/* _acquire => true; false: the proxy runs already. Claims all sockets or none. */
static VALUE proxy_acquire(VALUE self) {
    gw_proxy_t *proxy = proxy_get(self, "proxy");
    if (proxy->running) return Qfalse;
    for (int i = 0; i < GW_SIDES; i++) {
        if (NIL_P(proxy->sockets[i])) continue;
        gw_socket_t *socket = gw_socket_open(proxy->sockets[i], "proxy");
        /* A waiting thread calls libzmq when it wakes, so a socket with waiters is refused. */
        if (socket->queue.first) gw_raise_busy("proxy", proxy->sockets[i]);
    }
    for (int i = 0; i < GW_SIDES; i++) {
        gw_socket_t *socket = proxy->native[i];
        if (!socket) continue;
        size_t size = sizeof socket->proxy_linger;
        gw_monitor_stop_counting(socket);
        if (gw_socket_get(socket, ZMQ_LINGER, &socket->proxy_linger, &size))
            socket->proxy_linger = 0;
        socket->state = GW_IN_PROXY;
        socket->sent_before--; /* now gw_sent is above 0, so that a close lingers: the loop sends */
        socket->proxy = &proxy->control;
    }
    atomic_fetch_and(&proxy->control.bits, GW_PROXY_PAUSE);
    proxy->running = true;
    return Qtrue;
}

/* _release: ends the proxy's claim of its sockets. Sockets that the program closed while the proxy
 * ran are closed in libzmq now. A second call does nothing. */
static VALUE proxy_release(VALUE self) {
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    if (!proxy->running || gw_forked(proxy->generation)) return Qnil;
    proxy->running = false;
    for (int i = 0; i < GW_SIDES; i++) {
        gw_socket_t *socket = proxy->native[i];
        if (!socket) continue;
        socket->proxy = NULL;
        if (socket->state == GW_IN_PROXY) socket->state = GW_OPEN;
        gw_wake_all(socket); /* pollers did not poll the socket while the proxy ran */
        if (socket->state != GW_CLOSING) continue;
        gw_monitor_end(socket); /* wakes the waiters; the last waiter releases the socket */
        gw_wake_monitor_waiters(socket);
        gw_socket_release_idle(socket);
    }
    return Qnil;
}

/* _loop => nil once the proxy is stopped. Raises when a socket or the context is closed, and when
 * this thread is interrupted. */
static VALUE proxy_loop(VALUE self) {
    gw_proxy_t *proxy = proxy_get(self, "proxy");
    for (;;) {
        proxy->error = 0;
        rb_thread_check_ints();
        proxy_get(self, "proxy"); /* raises in a child that a trap handler has forked */
        rb_nogvl(gw_proxy_run, proxy, proxy_interrupt, proxy,
                RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
        int control = atomic_fetch_and(&proxy->control.bits, ~GW_PROXY_INTERRUPTED);
        if (control & GW_PROXY_CLOSED) gw_raise_closed("proxy", self);
        if (proxy->error) gw_raise(proxy->error, "proxy", self, Qnil);
        if (control & GW_PROXY_STOP) return Qnil;
    }
}

/* _control(:stop, :pause or :resume); :stop does nothing to a proxy that does not run */
static VALUE proxy_control(VALUE self, VALUE command) {
    const char *name = rb_id2name(rb_sym2id(command));
    gw_proxy_t *proxy = proxy_get(self, name);
    if (strcmp(name, "stop") == 0) {
        if (proxy->running) gw_proxy_signal(&proxy->control, GW_PROXY_STOP);
        return Qnil;
    }
    bool pause = strcmp(name, "pause") == 0;
    if (!pause) atomic_fetch_and(&proxy->control.bits, ~GW_PROXY_PAUSE);
    gw_proxy_signal(&proxy->control, pause ? GW_PROXY_PAUSE : 0);
    return Qnil;
}

static VALUE proxy_paused_p(VALUE self) {
    return RBOOL(atomic_load(&proxy_get(self, "paused?")->control.bits) & GW_PROXY_PAUSE);
}

static VALUE proxy_running_p(VALUE self) {
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    return RBOOL(proxy->running && !gw_forked(proxy->generation));
}

static VALUE proxy_forked_p(VALUE self) {
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    return RBOOL(proxy->control.wake_fd >= 0 && gw_forked(proxy->generation));
}

static VALUE proxy_waiters(VALUE self) {
    gw_proxy_t *proxy = rb_check_typeddata(self, &proxy_type);
    return INT2FIX(atomic_load(&proxy->asleep));
}

/* _counters => of each side: messages received, their bytes, messages sent, their bytes; at the end
 * the number of dropped messages */
static VALUE proxy_counters(VALUE self) {
    gw_proxy_t *proxy = proxy_get(self, "statistics");
    VALUE counters = rb_ary_new_capa(4 * GW_SIDES + 1);
    for (int i = 0; i < GW_SIDES; i++) {
        gw_traffic_t *traffic =
                &proxy->traffic[i == GW_BACK && !proxy->native[GW_BACK] ? GW_FRONT : i];
        rb_ary_push(counters, ULL2NUM(atomic_load(&traffic->received)));
        rb_ary_push(counters, ULL2NUM(atomic_load(&traffic->received_bytes)));
        rb_ary_push(counters, ULL2NUM(atomic_load(&traffic->sent)));
        rb_ary_push(counters, ULL2NUM(atomic_load(&traffic->sent_bytes)));
    }
    rb_ary_push(counters, ULL2NUM(atomic_load(&proxy->dropped)));
    return counters;
}

void gw_init_proxy(void) {
    VALUE class = rb_define_class_under(gw_mGodwit, "Proxy", rb_cObject);
    rb_define_alloc_func(class, proxy_alloc);
    rb_define_private_method(class, "_open", proxy_open, 3);
    rb_define_private_method(class, "_observe", proxy_observe, 1);
    rb_define_private_method(class, "_bound", proxy_bound, 1);
    rb_define_private_method(class, "_acquire", proxy_acquire, 0);
    rb_define_private_method(class, "_release", proxy_release, 0);
    rb_define_private_method(class, "_loop", proxy_loop, 0);
    rb_define_private_method(class, "_control", proxy_control, 1);
    rb_define_private_method(class, "_paused?", proxy_paused_p, 0);
    rb_define_private_method(class, "_running?", proxy_running_p, 0);
    rb_define_private_method(class, "_forked?", proxy_forked_p, 0);
    rb_define_private_method(class, "_counters", proxy_counters, 0);
    rb_define_private_method(class, "_waiters", proxy_waiters, 0);
}
