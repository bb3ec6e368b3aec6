/* Godwit::Socket from open to close. endpoints.c binds and connects it, options.c has its options,
 * send.c and recv.c its messages. */
#include "gem.h"
#include <mruby/gc.h>
#include <stdlib.h>

static void socket_free(mrb_state *mrb, void *pointer) {
    gw_socket_t *socket = pointer;
    if (!socket) return;
    gw_socket_release(socket);
    gw_socket_drop_frames(socket);
    if (!gw_socket_forked(socket)) gw_context_release(socket->context);
    free(socket);
}

const mrb_data_type gw_socket_type = {"Godwit::Socket", socket_free};

static gw_socket_t *socket_of(mrb_state *mrb, mrb_value self) {
    return mrb_data_check_get_ptr(mrb, self, &gw_socket_type);
}

gw_socket_t *gw_socket_check(mrb_state *mrb, mrb_value self, const char *operation) {
    gw_socket_t *socket = socket_of(mrb, self);
    if (GW_UNLIKELY(!socket || !socket->zmq)) gw_raise_named(mrb, "ClosedError", operation, self);
    if (GW_UNLIKELY(gw_socket_forked(socket))) gw_raise_named(mrb, "ForkedError", operation, self);
    return socket;
}

gw_socket_t *gw_socket_open(mrb_state *mrb, mrb_value self, const char *operation) {
    gw_socket_t *socket = gw_socket_check(mrb, self, operation);
    socket->drained = false;
    return socket;
}

int gw_socket_events(gw_socket_t *socket) {
    int events = gw_zmq_events(socket->zmq);
    if (GW_UNLIKELY(socket->buffered.indirect) && events >= 0)
        events = gw_buffered_events(&socket->buffered, socket->zmq, socket->type, events);
    return socket->stored && events >= 0 ? events | ZMQ_POLLIN : events;
}

/* Makes the libzmq socket of `type` in socket->context; returns an errno. */
static int socket_make(gw_socket_t *socket) {
    gw_context_t *context = socket->context;
    /* A SUB has no unsent messages, only subscriptions. */
    int linger = socket->type == ZMQ_SUB ? 0 : atomic_load(&context->linger);
    void *zmq = gw_zmq_open(context, socket->type == ZMQ_REP ? ZMQ_ROUTER : socket->type, linger);
    if (!zmq) return errno;
    int fd;
    size_t size = sizeof fd;
    int error = gw_zmq_get(zmq, ZMQ_FD, &fd, &size);
    if (error) {
        zmq_close(zmq);
        return error;
    }
    socket->zmq = zmq;
    socket->fd = fd;
    gw_socket_drop_frames(socket);
    socket->sent = socket->attached = socket->cut = false;
    return 0;
}

/* Gives an errno; then the context has not counted the socket. */
static int socket_make_counted(gw_socket_t *socket) {
    gw_context_t *context = socket->context;
    bool room = atomic_fetch_add(&context->open_sockets, 1) < atomic_load(&context->max_sockets);
    int error = room ? socket_make(socket) : EMFILE;
    if (error) atomic_fetch_sub(&context->open_sockets, 1);
    return error;
}

/* _open(context, type, whether it conflates) */
static mrb_value socket_open(mrb_state *mrb, mrb_value self) {
    mrb_value context, conflates;
    mrb_int type;
    mrb_get_args(mrb, "oio", &context, &type, &conflates);
    if (socket_of(mrb, self)) gw_raise_named(mrb, "StateError", "new", self);
    gw_context_t *native = gw_context_open(mrb, context, "new");
    const char *fix = native->started ? NULL : gw_threads_fix(&native->threads);
    if (fix) gw_raise_detail(mrb, "OptionError", "new", fix);
    gw_socket_t *socket = calloc(1, sizeof *socket);
    if (!socket) gw_raise(mrb, ENOMEM, "new", self, mrb_nil_value());
    zmq_msg_init(&socket->first);
    socket->type = type;
    socket->context = native;
    socket->receive_timeout = socket->send_timeout = GW_FOREVER;
    int error = socket_make_counted(socket);
    if (error == EMFILE || error == ENFILE) {
        mrb_full_gc(mrb); /* dropped objects may have descriptors */
        error = socket_make_counted(socket);
    }
    if (error) {
        free(socket);
        gw_raise(mrb, error, "new", self, mrb_nil_value());
    }
    gw_context_retain(native);
    atomic_fetch_add(&native->opens, 1);
    socket->vm = mrb;
    socket->generation = atomic_load(&gw_generation);
    gw_context_add(native, &socket->link);
    mrb_data_init(self, socket, &gw_socket_type);
    return self;
}

/* Replaces the libzmq socket with a new one, without linger; the caller sets options and
 * endpoints. */
static mrb_value socket_reopen(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_open(mrb, self, "reopen");
    gw_inproc_end_t before = gw_inproc_end(socket);
    int error = socket_make(socket), none = 0;
    if (error) gw_raise(mrb, error, "reopen", self, mrb_nil_value());
    gw_inproc_close(before, none);
    gw_zmq_set(before.zmq, ZMQ_LINGER, &none, sizeof none);
    zmq_close(before.zmq);
    return self;
}

static mrb_value socket_close(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = socket_of(mrb, self);
    if (!socket || !socket->zmq) return mrb_nil_value();
    if (gw_socket_forked(socket)) gw_raise_named(mrb, "ForkedError", "close", self);
    gw_socket_release(socket);
    return mrb_nil_value();
}

static mrb_value socket_closed_p(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = socket_of(mrb, self);
    return mrb_bool_value(!socket || !socket->zmq);
}

static mrb_value socket_forked_p(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = socket_of(mrb, self);
    return mrb_bool_value(socket && gw_socket_forked(socket));
}

static mrb_value socket_fd(mrb_state *mrb, mrb_value self) {
    return mrb_fixnum_value(gw_socket_open(mrb, self, "zmq_fd")->fd);
}

static mrb_value socket_pointer(mrb_state *mrb, mrb_value self) {
    return mrb_fixnum_value((intptr_t)gw_socket_open(mrb, self, "pointer")->zmq);
}

static int socket_close_object(mrb_state *mrb, struct RBasic *object, void *unused) {
    struct RData *data = (struct RData *)object;
    if (object->tt == MRB_TT_DATA && data->type == &gw_socket_type) gw_socket_release(data->data);
    return MRB_EACH_OBJ_OK;
}

void gw_close_sockets(mrb_state *mrb) { mrb_objspace_each_objects(mrb, socket_close_object, NULL); }

struct RClass *gw_init_socket(mrb_state *mrb, struct RClass *godwit) {
    struct RClass *class = mrb_define_class_under(mrb, godwit, "Socket", mrb->object_class);
    MRB_SET_INSTANCE_TT(class, MRB_TT_DATA);
    mrb_define_method(mrb, class, "_open", socket_open, MRB_ARGS_REQ(3));
    mrb_define_method(mrb, class, "_reopen_now", socket_reopen, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_close_now", socket_close, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_closed?", socket_closed_p, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_forked?", socket_forked_p, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_fd", socket_fd, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_pointer", socket_pointer, MRB_ARGS_NONE());
    return class;
}
