/* Godwit::Socket: its life, endpoints and options. Messages are in send.c and recv.c, waiting in wait.c. */
#include "godwit.h"
#include "option_table.h"
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- memory ---- */

static void
join_context(gw_socket_t *socket)
{
    gw_context_t *context = socket->context;
    gw_context_lock(context);
    socket->prev = NULL;
    socket->next = context->sockets;
    if (socket->next) socket->next->prev = socket;
    context->sockets = socket;
    gw_context_unlock(context);
}

static void
leave_context(gw_socket_t *socket)
{
    gw_context_t *context = socket->context;
    gw_context_lock(context);
    if (socket->prev) socket->prev->next = socket->next;
    else context->sockets = socket->next;
    if (socket->next) socket->next->prev = socket->prev;
    gw_context_unlock(context);
}

static void
socket_mark(void *pointer)
{
    gw_socket_t *socket = pointer;
    gw_line_mark(&socket->line);
    gw_line_mark(&socket->readers);
}

static void
socket_compact(void *pointer)
{
    gw_socket_t *socket = pointer;
    gw_line_compact(&socket->line);
    gw_line_compact(&socket->readers);
}

/* zmq_close only hands the socket to libzmq's own reaper, so the collector may call it; linger still holds. */
static void
socket_free(void *pointer)
{
    gw_socket_t *socket = pointer;
    gw_line_free(&socket->line);
    gw_line_free(&socket->readers);
    if (socket->context && gw_socket_forked(socket)) gw_monitor_free(socket);
    if (socket->context && !gw_socket_forked(socket)) {
        if (socket->zmq) {
            socket->state = GW_CLOSING;
            gw_socket_release(socket);
        }
        gw_context_release(socket->context);
    }
    gw_poller_forget(socket);
    gw_forget_frames(socket);
    xfree(socket);
}

static size_t
socket_size(const void *pointer)
{
    const gw_socket_t *socket = pointer;
    return sizeof *socket + gw_line_size(&socket->line);
}

const rb_data_type_t gw_socket_type = {
    .wrap_struct_name = "Godwit::Socket",
    .function = {.dmark = socket_mark, .dfree = socket_free, .dsize = socket_size, .dcompact = socket_compact},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

/* A monitor's readers may wait on a socket that is lent; its proxy then is one more who has to leave first. */
void
gw_socket_left(gw_socket_t *socket)
{
    if (socket->state == GW_CLOSING && !socket->proxy && !gw_socket_waited_on(socket)) gw_socket_release(socket);
}

/* The last who waited was a fiber that is collected. */
static void
left(gw_socket_t *socket)
{
    if (!gw_socket_forked(socket)) gw_socket_left(socket);
}

static void
left_line(gw_line_t *line)
{
    left((gw_socket_t *)((char *)line - offsetof(gw_socket_t, line)));
}

static void
left_readers(gw_line_t *line)
{
    left((gw_socket_t *)((char *)line - offsetof(gw_socket_t, readers)));
}

static VALUE
socket_alloc(VALUE class)
{
    gw_socket_t *socket;
    VALUE self = TypedData_Make_Struct(class, gw_socket_t, &gw_socket_type, socket);
    socket->edge_fd = -1;
    socket->line.left = left_line;
    socket->readers.left = left_readers;
    socket->encoding = rb_ascii8bit_encoding();
    socket->receive_timeout = socket->send_timeout = GW_FOREVER;
    socket->copy_threshold = SIZE_MAX;
    return self;
}

gw_socket_t *
gw_socket_open(VALUE self, const char *operation)
{
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    bool lent = socket->state == GW_LENT;
    if (RB_UNLIKELY(socket->state != GW_OPEN && !lent)) gw_raise_closed(operation, self);
    if (RB_UNLIKELY(gw_socket_forked(socket))) gw_raise_forked(operation, self);
    if (RB_UNLIKELY(lent)) gw_raise_busy(operation, self);
    return socket;
}

/* ---- open and close ---- */

/* Out of descriptors, libzmq aborts the process: where its first socket starts its threads, where an address is looked up. So
 * look before it leaps. Gives an errno. */
int
gw_descriptors(int needed)
{
    int *fds = malloc(needed * sizeof *fds), count = 0, error = 0;
    if (!fds) return ENOMEM;
    while (count < needed && !error) {
        int fd = eventfd(0, EFD_CLOEXEC);
        if (fd < 0) error = errno;
        else fds[count++] = fd;
    }
    while (count > 0) close(fds[--count]);
    free(fds);
    return error;
}

static int
descriptors_for_socket(gw_context_t *context)
{
    int threads = zmq_ctx_get(context->zmq, ZMQ_IO_THREADS);
    return context->started ? 2 : 4 + 2 * (threads < 0 ? 1 : threads);
}

/* Makes the libzmq socket of `type` in socket->context; gives an errno. */
static int
make(gw_socket_t *socket)
{
    /* A SUB's subscriptions are all that it could have unsent: nothing that is worth a wait, and libzmq's own default is 0. */
    int linger = socket->type == ZMQ_SUB ? 0 : atomic_load(&socket->context->linger);
    int error = gw_descriptors(descriptors_for_socket(socket->context));
    if (error) return error;
    socket->zmq = zmq_socket(socket->context->zmq, socket->type == ZMQ_REP ? ZMQ_ROUTER : socket->type);
    if (!socket->zmq) return errno;
    socket->context->started = true;
    error = gw_draft_open(socket);
    if (!error && zmq_setsockopt(socket->zmq, ZMQ_LINGER, &linger, sizeof linger) != 0) error = errno;
    if (error) {
        gw_draft_close(socket);
        zmq_close(socket->zmq);
        socket->zmq = NULL;
        return error;
    }
    if (socket->publisher) {
        int yes = 1;
        zmq_setsockopt(socket->zmq, ZMQ_XPUB_VERBOSER, &yes, sizeof yes);
    }
    gw_forget_frames(socket);
    socket->repair = GW_REQ_SOUND;
    socket->sent = false;
    socket->relaxed = socket->correlate = socket->stale_reply_pipe = false;
    socket->subscriptions = 0;
    return 0;
}

static VALUE
socket_open(VALUE self, VALUE context, VALUE type, VALUE conflate)
{
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    if (socket->state != GW_NEW) rb_raise(rb_eRuntimeError, "this socket is open already");
    gw_context_t *native = gw_context_open(context, "new");
    const char *fix = native->started ? NULL : gw_threads_fix(&native->threads);
    if (fix) gw_raise_detail("OptionError", "new", rb_utf8_str_new_cstr(fix));
    socket->publisher = NUM2INT(type) == ZMQ_PUB && !RTEST(conflate); /* libzmq conflates no XPUB */
    socket->type = socket->publisher ? ZMQ_XPUB : NUM2INT(type);
    socket->context = native;
    int error = EMFILE;
    if (atomic_fetch_add(&native->open_sockets, 1) < atomic_load(&native->max_sockets)) {
        error = make(socket);
        if (error == EMFILE || error == ENFILE) {
            rb_gc(); /* as Ruby does for its files: what was dropped may hold descriptors */
            error = make(socket);
        }
    }
    if (error) {
        atomic_fetch_sub(&native->open_sockets, 1);
        socket->context = NULL;
        gw_raise(error, "new", self, Qnil);
    }
    gw_context_retain(native);
    atomic_fetch_add(&native->holders, 1);
    socket->generation = atomic_load(&gw_generation);
    socket->ractor = gw_ractor();
    socket->state = GW_OPEN;
    join_context(socket);
    return self;
}

static void
forget_edges(gw_socket_t *socket)
{
    if (socket->edge_fd >= 0) close(socket->edge_fd);
    socket->edge_fd = -1;
}

static int
note_linger(gw_socket_t *socket)
{
    int linger = 0;
    size_t size = sizeof linger;
    if (zmq_getsockopt(socket->zmq, ZMQ_LINGER, &linger, &size) == 0) gw_context_note_linger(socket->context, linger);
    return linger;
}

void
gw_socket_release(gw_socket_t *socket)
{
    gw_inproc_leave(socket, socket->zmq, note_linger(socket));
    gw_monitor_end(socket);
    gw_peers_stop(socket);
    gw_monitor_free(socket);
    gw_line_free_spares(&socket->line);
    forget_edges(socket);
    gw_poller_detach(socket);
    gw_draft_close(socket);
    gw_forget_frames(socket);
    zmq_close(socket->zmq);
    socket->zmq = NULL;
    socket->state = GW_CLOSED;
    leave_context(socket);
    atomic_fetch_sub(&socket->context->open_sockets, 1);
    gw_context_leave(socket->context);
}

void
gw_socket_close(gw_socket_t *socket)
{
    bool lent = socket->state == GW_LENT;
    socket->state = GW_CLOSING;
    if (lent) { /* its proxy closes it when it has left */
        gw_context_note_linger(socket->context, socket->lent_linger);
        gw_proxy_end(socket->proxy);
        return;
    }
    note_linger(socket); /* now: Context#close asks for it before the last waiter has left */
    gw_monitor_end(socket);
    gw_wake_all(socket);
    gw_wake_readers(socket);
    if (!gw_socket_waited_on(socket)) gw_socket_release(socket); /* else the last to leave: the descriptor's number is reused at once */
}

static bool
socket_in_use(const gw_socket_t *socket)
{
    return socket->state == GW_OPEN || socket->state == GW_LENT;
}

static VALUE
socket_close(VALUE self)
{
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    if (!socket_in_use(socket)) return Qnil;
    if (gw_socket_forked(socket)) gw_raise_forked("close", self);
    gw_line_close_spares(&socket->line); /* other fibers may run meanwhile */
    if (socket_in_use(socket)) gw_socket_close(socket);
    return Qnil;
}

static VALUE
socket_closed_p(VALUE self)
{
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    return RBOOL(!socket_in_use(socket));
}

static VALUE
socket_forked_p(VALUE self)
{
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    return RBOOL(socket->state != GW_NEW && gw_socket_forked(socket));
}

/* Closes the libzmq socket without linger and makes a new one in its place; options and endpoints are the caller's affair.
 * Those who wait try again, on the new one. Only a REQ is asked to, so there is no poller to take along. */
static VALUE
socket_reopen(VALUE self)
{
    gw_socket_t *socket = gw_socket_open(self, "reopen");
    gw_peers_stop(socket);
    void *before = socket->zmq;
    int error = make(socket), none = 0;
    if (error) {
        socket->zmq = before;
        gw_raise(error, "reopen", self, Qnil);
    }
    socket->attached = false;
    gw_monitor_move(socket, before);
    gw_poller_attach(socket);
    gw_wake_all(socket);
    forget_edges(socket);
    gw_inproc_leave(socket, before, none);
    zmq_setsockopt(before, ZMQ_LINGER, &none, sizeof none);
    zmq_close(before);
    gw_line_close_spares(&socket->line); /* their epoll sets hold the old ZMQ_FD */
    return self;
}

/* ---- endpoints ---- */

/* libzmq closes the descriptor of use_fd when it is done, and aborts when one is bound twice: it gets a duplicate. */
static int64_t
do_bind(gw_socket_t *socket, const char *endpoint)
{
    void *zmq = socket->zmq;
    int given = -1;
    size_t size = sizeof given;
    if (gw_inproc(endpoint)) return gw_inproc_bind(socket, endpoint);
    bool takes = strncmp(endpoint, "tcp:", 4) == 0 || strncmp(endpoint, "ipc:", 4) == 0 || strncmp(endpoint, "ws", 2) == 0;
    if (!takes || zmq_getsockopt(zmq, ZMQ_USE_FD, &given, &size) != 0 || given < 0) return zmq_bind(zmq, endpoint);

    int copy = fcntl(given, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return -1;
    fcntl(copy, F_SETFL, fcntl(copy, F_GETFL) | O_NONBLOCK); /* of two that accept from it the later must not block libzmq */
    zmq_setsockopt(zmq, ZMQ_USE_FD, &copy, sizeof copy);
    int rc = zmq_bind(zmq, endpoint), error = errno;
    zmq_setsockopt(zmq, ZMQ_USE_FD, &given, sizeof given);
    if (rc != 0) close(copy);
    errno = error;
    return rc;
}

int64_t
gw_socket_endpoint(VALUE self, VALUE endpoint, const char *operation, int64_t (*function)(gw_socket_t *, const char *))
{
    enum { LOOKUP = 4 }; /* descriptors that libzmq must find to look up an address */
    gw_socket_t *socket = gw_socket_open(self, operation);
    const char *name = StringValueCStr(endpoint);
    int error = gw_descriptors(LOOKUP + (socket->counting ? 2 : 0));
    if (!error && !gw_inproc(name)) error = gw_peers_start(socket); /* libzmq tells of no peer there */
    int64_t result = 0;
    if (!error && (result = function(socket, name)) < 0) error = errno;
    if (error && function == do_bind) gw_monitor_bind_failed(socket, name, error);
    else if (socket->monitor) gw_monitor_look(socket);
    if (!error) socket->attached = true;
    if (!error && strncmp(name, "udp:", 4) == 0) socket->udp = true;
    gw_wake_all(socket); /* it gives or takes pipes at once, with no edge to tell of it */
    if (error) gw_raise(error, operation, self, endpoint);
    return result;
}

/* Gives the endpoint that was bound, wildcards replaced. */
static VALUE
socket_bind(VALUE self, VALUE endpoint)
{
    char bound[1024];
    size_t size = sizeof bound;
    gw_socket_endpoint(self, endpoint, "bind", do_bind);
    gw_socket_t *socket = gw_socket_open(self, "bind");
    if (zmq_getsockopt(socket->zmq, ZMQ_LAST_ENDPOINT, bound, &size) != 0 || size < 2) return endpoint;
    if (!strstr(bound, "://")) return endpoint; /* libzmq forgets udp's, and unbinds what it was given */
    return rb_utf8_str_new(bound, size - 1);
}

static int64_t
connect_any(void *zmq, const char *endpoint)
{
    return zmq_connect(zmq, endpoint);
}

static int64_t
do_connect(gw_socket_t *socket, const char *endpoint)
{
    if (gw_inproc(endpoint)) return gw_inproc_connect(socket, endpoint, connect_any);
    return zmq_connect(socket->zmq, endpoint);
}

static int64_t
do_unbind(gw_socket_t *socket, const char *endpoint)
{
    return zmq_unbind(socket->zmq, endpoint);
}

static int64_t
do_disconnect(gw_socket_t *socket, const char *endpoint)
{
    int error = gw_keep_message(socket);
    if (error) {
        errno = error;
        return -1;
    }
    if (gw_inproc(endpoint)) return gw_inproc_disconnect(socket, endpoint);
    return zmq_disconnect(socket->zmq, endpoint);
}

static VALUE
socket_connect(VALUE self, VALUE endpoint)
{
    gw_socket_endpoint(self, endpoint, "connect", do_connect);
    return Qnil;
}

static VALUE
socket_unbind(VALUE self, VALUE endpoint)
{
    gw_socket_endpoint(self, endpoint, "unbind", do_unbind);
    return Qnil;
}

static VALUE
socket_disconnect(VALUE self, VALUE endpoint)
{
    gw_socket_endpoint(self, endpoint, "disconnect", do_disconnect);
    return Qnil;
}

/* ---- options ---- */

static int
compare(const void *key, const void *entry)
{
    return *(const int *)key - ((const gw_option_t *)entry)->id;
}

static const gw_option_t *
find_option(int id)
{
    const gw_option_t *option = bsearch(&id, gw_socket_options, GW_SOCKET_OPTIONS_COUNT, sizeof(gw_option_t), compare);
    if (!option) rb_raise(rb_eArgError, "no socket option has the number %d", id);
    return option;
}

int
gw_socket_libzmq_events(gw_socket_t *socket)
{
    int events;
    size_t size = sizeof events;
    if (RB_UNLIKELY(socket->poller != NULL)) gw_draft_take_signal(socket); /* before libzmq empties its mailbox, never after */
    while (zmq_getsockopt(socket->zmq, ZMQ_EVENTS, &events, &size) != 0) {
        if (errno != EINTR) return -1;
    }
    return events;
}

int
gw_socket_events(gw_socket_t *socket)
{
    int events = gw_socket_libzmq_events(socket);
    return RB_UNLIKELY(socket->indirect) && events >= 0 ? gw_events_indirectly(socket, events) : events;
}

/* A PUB never receives in public: what it could read are subscriptions. */
static int
public_events(const gw_socket_t *socket, int events)
{
    return socket->publisher ? events & ~ZMQ_POLLIN : events;
}

static VALUE
get_bytes(VALUE self, gw_socket_t *socket, const gw_option_t *option)
{
    char buffer[4096]; /* more than any option of libzmq returns */
    size_t size = option->max && option->max < sizeof buffer ? option->max : sizeof buffer;
    int rc = zmq_getsockopt(socket->zmq, option->id, buffer, &size);
    int error = errno;
    gw_settle(socket);
    if (rc != 0) gw_raise(error, "get", self, Qnil);
    if (option->id == ZMQ_LAST_ENDPOINT) return rb_str_new_cstr(gw_inproc_name(buffer));
    if (option->kind == GW_OPT_STRING && size > 0 && buffer[size - 1] == '\0') size--;
    return rb_str_new(buffer, size);
}

static VALUE
socket_get(VALUE self, VALUE id)
{
    gw_socket_t *socket = gw_socket_open(self, "get");
    const gw_option_t *option = find_option(NUM2INT(id));
    union { int i; int64_t i64; uint64_t u64; } value = {.u64 = 0};
    if (option->id == ZMQ_RCVTIMEO) return LL2NUM(socket->receive_timeout);
    if (option->id == ZMQ_SNDTIMEO) return LL2NUM(socket->send_timeout);
    if (option->id == ZMQ_TYPE && (socket->publisher || socket->type == ZMQ_REP)) return INT2FIX(socket->publisher ? ZMQ_PUB : ZMQ_REP);
    if (option->kind == GW_OPT_BYTES || option->kind == GW_OPT_STRING) return get_bytes(self, socket, option);

    size_t size = option->kind == GW_OPT_INT ? sizeof value.i : sizeof value.u64;
    bool failed;
    if (option->id == ZMQ_EVENTS) failed = (value.i = gw_socket_events(socket)) < 0;
    else failed = zmq_getsockopt(socket->zmq, option->id, &value, &size) != 0;
    int error = errno;
    gw_settle(socket);
    if (failed) gw_raise(error, "get", self, Qnil);
    switch (option->kind) {
      case GW_OPT_INT: return INT2NUM(option->id == ZMQ_EVENTS ? public_events(socket, value.i) : value.i);
      case GW_OPT_INT64: return LL2NUM(value.i64);
      default: return ULL2NUM(value.u64);
    }
}

static VALUE
socket_set(VALUE self, VALUE id, VALUE value)
{
    gw_socket_t *socket = gw_socket_open(self, "set");
    const gw_option_t *option = find_option(NUM2INT(id));
    union { int i; int64_t i64; uint64_t u64; } number;
    const void *data = &number;
    size_t size = sizeof number.u64;
    if (option->kind == GW_OPT_BYTES || option->kind == GW_OPT_STRING) {
        data = NIL_P(value) ? NULL : RSTRING_PTR(StringValue(value));
        size = NIL_P(value) ? 0 : (size_t)RSTRING_LEN(value);
    }
    else if (option->kind == GW_OPT_INT) {
        number.i = NUM2INT(value);
        size = sizeof number.i;
    }
    else if (option->kind == GW_OPT_INT64) {
        number.i64 = NUM2LL(value);
    }
    else {
        number.u64 = NUM2ULL(value);
    }
    /* libzmq would change pipes that a thread of its own may be ending. It refuses a negative mark by itself. */
    bool mark = option->id == ZMQ_SNDHWM || option->id == ZMQ_RCVHWM;
    if (mark && socket->attached && number.i >= 0) gw_raise_fixed(self);
    int rc = zmq_setsockopt(socket->zmq, option->id, data, size);
    int error = errno;
    gw_wake_all(socket); /* it may be readable or writable now, with no edge to tell of it */
    RB_GC_GUARD(value);
    if (rc != 0) gw_raise(error, "set", self, Qnil);
    if (option->id == ZMQ_RCVTIMEO) socket->receive_timeout = number.i;
    if (option->id == ZMQ_SNDTIMEO) socket->send_timeout = number.i;
    if (option->id == ZMQ_REQ_RELAXED) socket->relaxed = number.i != 0;
    if (option->id == ZMQ_REQ_CORRELATE) socket->correlate = number.i != 0;
    return Qnil;
}

static VALUE
socket_set_encoding(VALUE self, VALUE encoding)
{
    gw_socket_open(self, "encoding=")->encoding = rb_to_encoding(encoding);
    return encoding;
}

static VALUE
socket_encoding(VALUE self)
{
    return rb_enc_from_encoding(gw_socket_open(self, "encoding")->encoding);
}

/* _copy_threshold, _set_copy_threshold(bytes): nil is never in place */
static VALUE
socket_copy_threshold(VALUE self)
{
    size_t bytes = gw_socket_open(self, "copy_threshold")->copy_threshold;
    return bytes == SIZE_MAX ? Qnil : SIZET2NUM(bytes);
}

static VALUE
socket_set_copy_threshold(VALUE self, VALUE bytes)
{
    gw_socket_open(self, "copy_threshold=")->copy_threshold = NIL_P(bytes) ? SIZE_MAX : NUM2SIZET(bytes);
    return bytes;
}

/* ---- the rest ---- */

/* Waits until ZMQ_EVENTS has one of `events`; gives those, or nil when time is up. Takes no message. */
static VALUE
socket_wait(VALUE self, VALUE events, VALUE timeout)
{
    gw_call_t call = gw_call(self, "wait", gw_milliseconds(timeout, GW_FOREVER));
    int wanted = NUM2INT(events);
    for (;;) {
        int ready = gw_socket_events(call.socket);
        int error = errno;
        gw_settle(call.socket); /* the message stays: others in line may take it */
        if (ready < 0) gw_raise(error, "wait", self, Qnil);
        ready = public_events(call.socket, ready) & wanted;
        if (ready) return INT2FIX(ready);
        if (!gw_wait(&call, wanted)) return Qnil;
    }
}

/* _waiters => threads and fibers that wait for its messages, room, peers or events */
static VALUE
socket_waiters(VALUE self)
{
    gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    return LONG2NUM(gw_line_count(&socket->line) + gw_line_count(&socket->readers));
}

static VALUE
socket_fd(VALUE self)
{
    return INT2NUM(gw_socket_open(self, "zmq_fd")->fd);
}

static VALUE
socket_pointer(VALUE self)
{
    return ULL2NUM((uintptr_t)gw_socket_open(self, "pointer")->zmq);
}

void
gw_init_socket(void)
{
    VALUE class = rb_define_class_under(gw_mGodwit, "Socket", rb_cObject);
    rb_define_alloc_func(class, socket_alloc);
    rb_define_private_method(class, "_open", socket_open, 3);
    rb_define_private_method(class, "_reopen", socket_reopen, 0);
    rb_define_private_method(class, "_close", socket_close, 0);
    rb_define_private_method(class, "_closed?", socket_closed_p, 0);
    rb_define_private_method(class, "_forked?", socket_forked_p, 0);
    rb_define_private_method(class, "_bind", socket_bind, 1);
    rb_define_private_method(class, "_connect", socket_connect, 1);
    rb_define_private_method(class, "_unbind", socket_unbind, 1);
    rb_define_private_method(class, "_disconnect", socket_disconnect, 1);
    rb_define_private_method(class, "_get_option", socket_get, 1);
    rb_define_private_method(class, "_set_option", socket_set, 2);
    rb_define_private_method(class, "_encoding", socket_encoding, 0);
    rb_define_private_method(class, "_set_encoding", socket_set_encoding, 1);
    rb_define_private_method(class, "_copy_threshold", socket_copy_threshold, 0);
    rb_define_private_method(class, "_set_copy_threshold", socket_set_copy_threshold, 1);
    rb_define_private_method(class, "_wait", socket_wait, 2);
    rb_define_private_method(class, "_waiters", socket_waiters, 0);
    rb_define_private_method(class, "_fd", socket_fd, 0);
    rb_define_private_method(class, "_pointer", socket_pointer, 0);
}
