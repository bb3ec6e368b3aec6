/* Godwit::Socket from open to close. endpoints.c binds and connects it, options.c has its options,
 * send.c and recv.c its messages. Every function needs the GVL, which guards the socket. */
#include "socket.h"
#include <stddef.h>

static void socket_mark(void *pointer) {
    gw_socket_t *socket = pointer;
    gw_wait_queue_mark(&socket->queue);
    gw_wait_queue_mark(&socket->monitor_waiters);
}

static void socket_compact(void *pointer) {
    gw_socket_t *socket = pointer;
    gw_wait_queue_compact(&socket->queue);
    gw_wait_queue_compact(&socket->monitor_waiters);
}

/* Frees a collected socket. zmq_close does not wait: it hands the libzmq socket to libzmq's own
 * reaper thread. */
static void socket_free(void *pointer) {
    gw_socket_t *socket = pointer;
    gw_wait_queue_free(&socket->queue);
    gw_wait_queue_free(&socket->monitor_waiters);
    if (socket->context && !gw_socket_forked(socket)) {
        if (socket->zmq) {
            socket->state = GW_CLOSING;
            gw_socket_release(socket);
        }
        gw_context_release(socket->context);
    }
    gw_unsent_forget(socket);
    gw_watches_forget(socket);
    gw_monitor_free(socket);
    gw_peers_free(socket->peers);
    gw_buffered_clear(&socket->buffered, socket->type);
    xfree(socket);
}

static size_t socket_size(const void *pointer) {
    const gw_socket_t *socket = pointer;
    return sizeof *socket + gw_wait_queue_size(&socket->queue);
}

const rb_data_type_t gw_socket_type = {
        .wrap_struct_name = "Godwit::Socket",
        .function = {socket_mark, socket_free, socket_size, socket_compact},
        .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static void socket_queue_emptied(gw_wait_queue_t *queue) {
    gw_socket_release_idle((gw_socket_t *)((char *)queue - offsetof(gw_socket_t, queue)));
}

static void socket_monitor_waiters_emptied(gw_wait_queue_t *queue) {
    gw_socket_release_idle((gw_socket_t *)((char *)queue - offsetof(gw_socket_t, monitor_waiters)));
}

static VALUE socket_alloc(VALUE class) {
    gw_socket_t *socket;
    VALUE self = TypedData_Make_Struct(class, gw_socket_t, &gw_socket_type, socket);
    socket->edge_fd = -1;
    socket->queue.emptied = socket_queue_emptied;
    socket->monitor_waiters.emptied = socket_monitor_waiters_emptied;
    socket->encoding = rb_ascii8bit_encoding();
    socket->receive_timeout = socket->send_timeout = GW_FOREVER;
    socket->copy_threshold = SIZE_MAX;
    return self;
}

gw_socket_t *gw_socket_open(VALUE self, const char *operation) {
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    bool in_proxy = socket->state == GW_IN_PROXY;
    if (RB_UNLIKELY(socket->state != GW_OPEN && !in_proxy)) gw_raise_closed(operation, self);
    if (RB_UNLIKELY(gw_socket_forked(socket))) gw_raise_forked(operation, self);
    if (RB_UNLIKELY(in_proxy)) gw_raise_busy(operation, self);
    return socket;
}

gw_call_t gw_call(VALUE self, const char *operation, int64_t milliseconds) {
    return (gw_call_t){
            .self = self,
            .socket = gw_socket_open(self, operation),
            .operation = operation,
            .deadline = milliseconds < 0 ? GW_FOREVER : gw_deadline(milliseconds),
    };
}

void gw_stop_diagnosis(gw_call_t *call) {
    gw_socket_t *socket = call->socket;
    bool fruitless = socket->fruitless;
    socket->fruitless = false;
    if (fruitless || socket->queue.first) return; /* another waiter may need the diagnosis */
    socket->diagnosing = false;
    rb_funcall(call->self, rb_intern("_end_diagnosis"), 0);
    call->socket = gw_socket_open(call->self, call->operation);
}

/* Lets other fibers run. Another fiber may close the socket meanwhile. */
void gw_yield_fiber(gw_call_t *call) {
    gw_socket_t *socket = call->socket;
    if (RB_UNLIKELY(socket->monitor != NULL) && socket->calls_since_yield + 1 >= GW_YIELD_EVERY)
        gw_monitor_drain_when_due(socket);
    if (gw_yield_turn(&socket->calls_since_yield))
        call->socket = gw_socket_open(call->self, call->operation);
}

/* Makes socket->zmq, of socket->type and in socket->context; returns an errno. */
static int socket_make(gw_socket_t *socket) {
    /* A SUB needs no linger: it sends only subscriptions. */
    gw_context_t *context = socket->context;
    int linger = socket->type == ZMQ_SUB ? 0 : atomic_load(&context->linger);
    socket->zmq = gw_zmq_open(context, socket->type == ZMQ_REP ? ZMQ_ROUTER : socket->type, linger);
    if (!socket->zmq) return errno;
    int error = gw_draft_open(socket);
    if (error) {
        zmq_close(socket->zmq);
        socket->zmq = NULL;
        return error;
    }
    if (socket->publisher) {
        int yes = 1;
        gw_zmq_set(socket->zmq, ZMQ_XPUB_VERBOSER, &yes, sizeof yes);
    }
    gw_buffered_clear(&socket->buffered, socket->type);
    socket->repair = GW_REQ_INTACT;
    socket->sent_before = socket->counts.sent;
    socket->relaxed = socket->correlate = socket->stale_reply_pipe = false;
    socket->subscriptions = 0;
    return 0;
}

static VALUE socket_open(VALUE self, VALUE context, VALUE type, VALUE conflate) {
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    if (socket->state != GW_NEW) rb_raise(rb_eRuntimeError, "this socket is open already");
    gw_context_t *native = gw_context_open(context, "new");
    const char *fix = native->started ? NULL : gw_threads_fix(&native->threads);
    if (fix) gw_raise_detail("OptionError", "new", "%s", fix);
    socket->publisher = NUM2INT(type) == ZMQ_PUB && !RTEST(conflate); /* libzmq conflates no XPUB */
    socket->type = socket->publisher ? ZMQ_XPUB : NUM2INT(type);
    socket->context = native;
    int error = EMFILE;
    if (atomic_fetch_add(&native->open_sockets, 1) < atomic_load(&native->max_sockets)) {
        error = socket_make(socket);
        if (error == EMFILE || error == ENFILE) {
            rb_gc(); /* unreachable objects may still own descriptors */
            error = socket_make(socket);
        }
    }
    if (error) {
        atomic_fetch_sub(&native->open_sockets, 1);
        socket->context = NULL;
        gw_raise(error, "new", self, Qnil);
    }
    gw_context_retain(native);
    atomic_fetch_add(&native->opens, 1);
    socket->generation = atomic_load(&gw_generation);
    socket->ractor = gw_ractor();
    socket->state = GW_OPEN;
    gw_context_add(native, &socket->link);
    return self;
}

static bool socket_in_use(const gw_socket_t *socket) {
    return socket->state == GW_OPEN || socket->state == GW_IN_PROXY;
}

static VALUE socket_close(VALUE self) {
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    if (!socket_in_use(socket)) return Qnil;
    if (gw_socket_forked(socket)) gw_raise_forked("close", self);
    gw_wait_queue_close_spares(&socket->queue); /* other fibers may run here */
    if (socket_in_use(socket)) gw_socket_close(socket);
    return Qnil;
}

static VALUE socket_closed_p(VALUE self) {
    return RBOOL(!socket_in_use(rb_check_typeddata(self, &gw_socket_type)));
}

static VALUE socket_forked_p(VALUE self) {
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    return RBOOL(socket->state != GW_NEW && gw_socket_forked(socket));
}

/* Replaces the libzmq socket with a new one, and closes the old one without linger. The caller sets
 * options and endpoints again. The waiters retry on the new socket. */
static VALUE socket_reopen(VALUE self) {
    gw_socket_t *socket = gw_socket_open(self, "reopen");
    gw_unsent_forget(socket);
    gw_monitor_stop_counting(socket);
    void *before = socket->zmq;
    int error = socket_make(socket), none = 0;
    if (error) {
        socket->zmq = before;
        gw_raise(error, "reopen", self, Qnil);
    }
    socket->attached = false;
    gw_watches_attach(socket);
    gw_monitor_move(socket, before);
    gw_wake_all(socket);
    gw_forget_edges(socket);
    gw_inproc_close(gw_inproc_end(socket, before), none);
    gw_zmq_set(before, ZMQ_LINGER, &none, sizeof none);
    zmq_close(before);
    gw_wait_queue_close_spares(&socket->queue); /* epolls of spare waiters contain the old ZMQ_FD */
    return self;
}

/* _wait(events, timeout in ms) => those of the events that are true now; nil: time is up */
static VALUE socket_wait(VALUE self, VALUE events, VALUE timeout) {
    gw_call_t call = gw_call(self, "wait", gw_milliseconds(timeout, GW_FOREVER));
    int wanted = NUM2INT(events);
    for (;;) {
        int ready = gw_socket_events(call.socket);
        if (ready < 0) gw_raise(errno, "wait", self, Qnil);
        ready &= call.socket->publisher ? wanted & ~ZMQ_POLLIN : wanted;
        if (ready) return INT2FIX(ready);
        if (!gw_wait(&call, wanted)) return Qnil;
    }
}

static VALUE socket_waiters(VALUE self) {
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    return LONG2NUM(
            gw_wait_queue_count(&socket->queue) + gw_wait_queue_count(&socket->monitor_waiters));
}

static VALUE socket_fd(VALUE self) { return INT2NUM(gw_socket_open(self, "zmq_fd")->fd); }

static VALUE socket_pointer(VALUE self) {
    return ULL2NUM((uintptr_t)gw_socket_open(self, "pointer")->zmq);
}

VALUE gw_cSocket;

void gw_init_socket(void) {
    gw_cSocket = rb_define_class_under(gw_mGodwit, "Socket", rb_cObject);
    rb_define_alloc_func(gw_cSocket, socket_alloc);
    rb_define_private_method(gw_cSocket, "_open", socket_open, 3);
    rb_define_private_method(gw_cSocket, "_reopen", socket_reopen, 0);
    rb_define_private_method(gw_cSocket, "_close", socket_close, 0);
    rb_define_private_method(gw_cSocket, "_closed?", socket_closed_p, 0);
    rb_define_private_method(gw_cSocket, "_forked?", socket_forked_p, 0);
    rb_define_private_method(gw_cSocket, "_wait", socket_wait, 2);
    rb_define_private_method(gw_cSocket, "_waiters", socket_waiters, 0);
    rb_define_private_method(gw_cSocket, "_fd", socket_fd, 0);
    rb_define_private_method(gw_cSocket, "_pointer", socket_pointer, 0);
}
