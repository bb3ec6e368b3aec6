/* What only a libzmq built with drafts has (law 11). Its functions are found at run time and never linked, so one build of the
 * extension runs with both; whether they are used is decided by zmq_has("draft") and by the symbols found. */
#include "godwit.h"
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
    GROUP_MOST = 255,       /* bytes of a group's name */
    UDP_GROUP_MOST = 127,   /* libzmq's receiver takes a larger length for a negative number, and aborts */
    UDP_MOST = 8192,        /* bytes of a packet; libzmq's sender copies larger ones beyond its buffer */
};

gw_draft_t gw_draft; /* written once, at load */

/* ---- messages ---- */

int
gw_draft_set_routing_id(zmq_msg_t *message, uint32_t id)
{
    if (!gw_draft.available) return ENOTSUP;
    return gw_draft.msg_set_routing_id(message, id) == 0 ? 0 : errno;
}

uint32_t
gw_draft_routing_id(zmq_msg_t *message)
{
    return gw_draft.available ? gw_draft.msg_routing_id(message) : 0;
}

int
gw_draft_set_group(zmq_msg_t *message, const char *group)
{
    if (!gw_draft.available) return ENOTSUP;
    return gw_draft.msg_set_group(message, group) == 0 ? 0 : errno;
}

const char *
gw_draft_group(zmq_msg_t *message)
{
    return gw_draft.available ? gw_draft.msg_group(message) : NULL;
}

/* ---- socket types ---- */

/* A thread-safe type has no ZMQ_FD. Its fd is that of a zmq_poller which holds it alone: an eventfd that libzmq writes when its
 * mailbox was empty and is no longer. Gives an errno. */
static int
open_poller(gw_socket_t *socket)
{
    if (!gw_draft.available) return ENOTSUP;
    int error;
    socket->poller = gw_draft.poller_new();
    if (!socket->poller) return ENOMEM;
    if (gw_draft.poller_add(socket->poller, socket->zmq, NULL, ZMQ_POLLIN | ZMQ_POLLOUT) == 0
        && gw_draft.poller_fd(socket->poller, &socket->fd) == 0) {
        return 0;
    }
    error = errno;
    gw_draft_close(socket);
    return error;
}

int
gw_draft_open(gw_socket_t *socket)
{
    int thread_safe = 0;
    size_t size = sizeof thread_safe;
    socket->poller = NULL;
    if (zmq_getsockopt(socket->zmq, ZMQ_THREAD_SAFE, &thread_safe, &size) != 0) thread_safe = 0;
    switch (socket->type) {
      case GW_SERVER: case GW_PEER: socket->form = GW_FORM_ROUTED; break;
      case GW_RADIO: socket->form = GW_FORM_GROUPED; break;
      case GW_DGRAM: socket->form = GW_FORM_DATAGRAM; break;
      default: socket->form = thread_safe ? GW_FORM_SINGLE : GW_FORM_ANY;
    }
    if (thread_safe) return open_poller(socket);
    size = sizeof socket->fd;
    return zmq_getsockopt(socket->zmq, ZMQ_FD, &socket->fd, &size) == 0 ? 0 : errno;
}

/* Before zmq_close: the poller takes its signaler out of the socket, which libzmq's reaper may free at any time afterwards. */
void
gw_draft_close(gw_socket_t *socket)
{
    if (socket->poller) gw_draft.poller_destroy(&socket->poller);
    socket->poller = NULL;
}

/* The eventfd of a thread-safe socket stays readable until somebody reads it; no call on the socket does. Whoever does so wakes
 * all who wait, and then tries, since what the signal told of may be for any of them. */
bool
gw_draft_take_signal(gw_socket_t *socket)
{
    uint64_t count;
    if (read(socket->fd, &count, sizeof count) < 0) return false;
    gw_wake_all(socket);
    return true;
}

/* Whether a message of so many frames is one for this type. */
bool
gw_draft_fits(const gw_socket_t *socket, long frames)
{
    switch (socket->form) {
      case GW_FORM_ANY: return true;
      case GW_FORM_SINGLE: return frames == 1;
      case GW_FORM_DATAGRAM: return frames == 2;
      default: return false; /* it names nobody */
    }
}

/* Whether a message that fits would overrun libzmq's buffer for packets. */
bool
gw_draft_too_large(const gw_socket_t *socket, VALUE message)
{
    return socket->form == GW_FORM_DATAGRAM && gw_part_size(RARRAY_AREF(message, 1)) > UDP_MOST;
}

/* ---- primitives ---- */

static const char *
group_name(VALUE group)
{
    return StringValueCStr(group);
}

static VALUE
groups(VALUE self, VALUE group, const char *operation, int (*function)(void *, const char *))
{
    gw_socket_t *socket = gw_socket_open(self, operation);
    if (!function) gw_raise(ENOTSUP, operation, self, Qnil);
    int rc = function(socket->zmq, group_name(group)), error = errno;
    gw_settle(socket);
    if (rc != 0) gw_raise(error, operation, self, Qnil);
    return Qnil;
}

static VALUE
socket_join(VALUE self, VALUE group)
{
    return groups(self, group, "join", gw_draft.join);
}

static VALUE
socket_leave(VALUE self, VALUE group)
{
    return groups(self, group, "leave", gw_draft.leave);
}

static int64_t
connect_peer_of(void *zmq, const char *endpoint)
{
    uint32_t id = gw_draft.connect_peer(zmq, endpoint);
    return id ? (int64_t)id : -1;
}

static int64_t
connect_peer(gw_socket_t *socket, const char *endpoint)
{
    if (gw_inproc(endpoint)) return gw_inproc_connect(socket, endpoint, connect_peer_of);
    return connect_peer_of(socket->zmq, endpoint);
}

/* _connect_peer(endpoint) => routing id of the peer there */
static VALUE
socket_connect_peer(VALUE self, VALUE endpoint)
{
    gw_socket_open(self, "connect_peer");
    if (!gw_draft.connect_peer) gw_raise(ENOTSUP, "connect_peer", self, Qnil);
    return LL2NUM(gw_socket_endpoint(self, endpoint, "connect_peer", connect_peer));
}

static void
begin(gw_call_t *call)
{
    gw_give_way(call);
    if (RB_UNLIKELY(call->socket->peers != NULL)) gw_peers_stop(call->socket);
}

/* One try; gives an errno. `to` is a group or a routing id. */
static int
try_send_to(gw_socket_t *socket, VALUE body, VALUE to, gw_tracker_t *tracker)
{
    zmq_msg_t message;
    int error = gw_part_message(socket, body, &message, tracker);
    if (error) return error;
    error = RB_TYPE_P(to, T_STRING) ? gw_draft_set_group(&message, group_name(to)) : gw_draft_set_routing_id(&message, NUM2UINT(to));
    while (!error && zmq_msg_send(&message, socket->zmq, ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) error = errno;
    }
    if (error) zmq_msg_close(&message);
    else gw_part_sent(body);
    if (!error) socket->sent = true;
    gw_settle(socket);
    return error;
}

static void
check_size(const gw_socket_t *socket, VALUE self, VALUE body, VALUE to)
{
    if (!socket->udp || !RB_TYPE_P(to, T_STRING)) return;
    if (RSTRING_LEN(to) > UDP_GROUP_MOST) gw_raise(ENAMETOOLONG, "send", self, Qnil);
    if (1 + RSTRING_LEN(to) + gw_part_size(body) > UDP_MOST) gw_raise(EMSGSIZE, "send", self, Qnil);
}

/* _send_to(String or Frame, group or routing id, timeout, Tracker or nil) => true, or false when time is up */
static VALUE
socket_send_to(VALUE self, VALUE body, VALUE to, VALUE timeout, VALUE tracker)
{
    gw_call_t call = gw_call(self, "send", 0);
    call.deadline = gw_deadline(gw_milliseconds(timeout, call.socket->send_timeout));
    call.tracker = NIL_P(tracker) ? NULL : gw_tracker_get(tracker);
    if (!gw_is_frame(body)) {
        Check_Type(body, T_STRING);
        body = rb_str_new_frozen(body); /* others run while we wait: what was checked must not change under us */
    }
    if (RB_TYPE_P(to, T_STRING)) group_name(to = rb_str_new_frozen(to));
    else NUM2UINT(to);
    begin(&call);
    for (;;) {
        if (gw_is_frame(body)) gw_frame_check(body, "send"); /* each time: others may have sent it, */
        check_size(call.socket, self, body, to);             /* or connected the socket to udp */
        int error = try_send_to(call.socket, body, to, call.tracker);
        if (error == EAGAIN) { /* as in send.c: libzmq looks at its mailbox only now and then when it sends */
            if (gw_socket_events(call.socket) < 0) error = errno;
            else error = try_send_to(call.socket, body, to, call.tracker);
            gw_settle(call.socket);
        }
        if (!error) break;
        if (error != EAGAIN) gw_raise(error, "send", self, Qnil);
        if (!gw_wait(&call, ZMQ_POLLOUT)) return Qfalse;
    }
    RB_GC_GUARD(body);
    RB_GC_GUARD(to);
    RB_GC_GUARD(tracker);
    return Qtrue;
}

static VALUE
origin(const gw_socket_t *socket, zmq_msg_t *message)
{
    if (socket->type != GW_DISH) return UINT2NUM(gw_draft_routing_id(message));
    const char *group = gw_draft_group(message);
    return rb_enc_str_new(group, strlen(group), socket->encoding);
}

/* _recv_from(timeout) => [group or routing id, body], or nil when time is up */
static VALUE
socket_recv_from(VALUE self, VALUE timeout)
{
    gw_call_t call = gw_call(self, "recv", 0);
    call.deadline = gw_deadline(gw_milliseconds(timeout, call.socket->receive_timeout));
    begin(&call);
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (zmq_msg_recv(&message, call.socket->zmq, ZMQ_DONTWAIT) < 0) {
        int error = errno;
        if (error == EINTR) continue;
        gw_settle(call.socket);
        if (error != EAGAIN) gw_raise(error, "recv", self, Qnil);
        if (!gw_wait(&call, ZMQ_POLLIN)) return Qnil;
    }
    VALUE body = rb_enc_str_new(zmq_msg_data(&message), zmq_msg_size(&message), call.socket->encoding);
    VALUE from = origin(call.socket, &message);
    zmq_msg_close(&message);
    gw_settle(call.socket);
    return rb_assoc_new(from, body);
}

/* ---- load ---- */

/* From the libzmq that is linked, wherever else there may be one. */
static void *
library(void)
{
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)zmq_version, &info) || !info.dli_fname) return NULL;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

static void
find_functions(void)
{
    void *handle = zmq_has("draft") ? library() : NULL;
    if (!handle) return;
    struct {
        const char *name;
        void *place;
        bool needed;
    } functions[] = {
        {"zmq_join", &gw_draft.join, true},
        {"zmq_leave", &gw_draft.leave, true},
        {"zmq_msg_set_routing_id", &gw_draft.msg_set_routing_id, true},
        {"zmq_msg_routing_id", &gw_draft.msg_routing_id, true},
        {"zmq_msg_set_group", &gw_draft.msg_set_group, true},
        {"zmq_msg_group", &gw_draft.msg_group, true},
        {"zmq_poller_new", &gw_draft.poller_new, true},
        {"zmq_poller_destroy", &gw_draft.poller_destroy, true},
        {"zmq_poller_add", &gw_draft.poller_add, true},
        {"zmq_poller_fd", &gw_draft.poller_fd, true},
        {"zmq_connect_peer", &gw_draft.connect_peer, false}, /* since 4.3.3 */
        {"zmq_ctx_set_ext", &gw_draft.ctx_set_ext, false},
        {"zmq_socket_monitor_versioned", &gw_draft.socket_monitor_versioned, false},
        {"zmq_socket_monitor_pipes_stats", &gw_draft.socket_monitor_pipes_stats, false},
    };
    gw_draft.available = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = dlsym(handle, functions[i].name);
        if (function) memcpy(functions[i].place, &function, sizeof function);
        else if (functions[i].needed) gw_draft.available = false;
    }
    dlclose(handle); /* it stays loaded: we are linked with it */
}

static VALUE
draft_p(VALUE self)
{
    return RBOOL(gw_draft.available);
}

void
gw_init_draft(VALUE native)
{
    VALUE class = rb_const_get(gw_mGodwit, rb_intern("Socket"));
    find_functions();
    rb_define_module_function(native, "draft?", draft_p, 0);
    rb_define_private_method(class, "_join", socket_join, 1);
    rb_define_private_method(class, "_leave", socket_leave, 1);
    rb_define_private_method(class, "_connect_peer", socket_connect_peer, 1);
    rb_define_private_method(class, "_send_to", socket_send_to, 4);
    rb_define_private_method(class, "_recv_from", socket_recv_from, 1);
}
