/* Methods of draft socket types: sends to a routing id or a group, joins, connect_peer. A libzmq
 * without drafts makes no such sockets. Every function needs the GVL. */
#include "proxy.h"

/* _set_group(group, true to join it, false to leave it) */
static VALUE addressed_set_group(VALUE self, VALUE group, VALUE joins) {
    const char *operation = RTEST(joins) ? "join" : "leave";
    gw_socket_t *socket = gw_socket_open(self, operation);
    int (*function)(void *, const char *) = RTEST(joins) ? gw_draft.join : gw_draft.leave;
    int error = function(socket->zmq, StringValueCStr(group)) == 0 ? 0 : errno;
    if (gw_settle(socket, error)) gw_raise(error, operation, self, Qnil);
    return Qnil;
}

static int64_t addressed_connect_bare(void *zmq, const char *endpoint) {
    uint32_t id = gw_draft.connect_peer(zmq, endpoint);
    return id ? (int64_t)id : -1;
}

static int64_t addressed_connect_to(gw_socket_t *socket, const char *endpoint) {
    gw_inproc_end_t end = gw_inproc_end(socket, socket->zmq);
    return gw_endpoint_connect(end, endpoint, addressed_connect_bare);
}

/* _connect_peer(endpoint) => routing id of the peer at the endpoint */
static VALUE addressed_connect_peer(VALUE self, VALUE endpoint) {
    gw_socket_open(self, "connect_peer");
    if (!gw_draft.connect_peer) gw_raise(ENOTSUP, "connect_peer", self, Qnil);
    return LL2NUM(gw_socket_endpoint(self, endpoint, "connect_peer", addressed_connect_to));
}

/* Returns an errno. `to` is a group or a routing id. */
static int addressed_try_send_to(gw_socket_t *socket, VALUE body, VALUE to, gw_tracker_t *tracker) {
    zmq_msg_t message;
    size_t bytes = gw_outgoing_size(body);
    int error = gw_outgoing_message(socket, body, &message, tracker);
    if (error) return error;
    int code = RB_TYPE_P(to, T_STRING) ? gw_draft.msg_set_group(&message, StringValueCStr(to))
                                       : gw_draft.msg_set_routing_id(&message, NUM2UINT(to));
    error = code == 0 ? gw_send_frame(socket, &message, 0) : errno;
    if (error) {
        zmq_msg_close(&message);
        return error;
    }
    gw_outgoing_sent(body);
    gw_count_sent(socket, bytes);
    return 0;
}

static void addressed_check_size(const gw_socket_t *socket, VALUE self, VALUE body, VALUE to) {
    if (!socket->udp || !RB_TYPE_P(to, T_STRING)) return;
    if (RSTRING_LEN(to) > GW_UDP_GROUP_BYTES) gw_raise(ENAMETOOLONG, "send", self, Qnil);
    if (1 + RSTRING_LEN(to) + gw_outgoing_size(body) > GW_UDP_BYTES)
        gw_raise(EMSGSIZE, "send", self, Qnil);
}

/* _send_to(String or Frame, group or routing id, timeout in ms or nil, Tracker or nil) => true;
 * false: the time-out has passed */
static VALUE addressed_send_to(VALUE self, VALUE body, VALUE to, VALUE timeout, VALUE tracker) {
    gw_call_t call = gw_call(self, "send", 0);
    gw_set_deadline(&call, timeout, call.socket->send_timeout);
    call.tracker = NIL_P(tracker) ? NULL : gw_tracker_get(tracker);
    if (!gw_is_frame(body)) {
        Check_Type(body, T_STRING);
        /* A copy that other threads cannot change during a wait. */
        body = rb_str_new_frozen(body);
    }
    if (!RB_TYPE_P(to, T_STRING)) {
        NUM2UINT(to);
    } else {
        to = rb_str_new_frozen(to);
        StringValueCStr(to);
    }
    gw_begin(&call);
    for (;;) {
        /* During a wait another thread may send the frame or connect to udp, so check each time. */
        if (gw_is_frame(body)) gw_frame_check(body, "send");
        addressed_check_size(call.socket, self, body, to);
        int error = addressed_try_send_to(call.socket, body, to, call.tracker);
        /* A wait requires an empty libzmq mailbox. A send need not empty it; this read does. */
        if (error == EAGAIN) {
            if (gw_socket_events(call.socket) < 0) error = errno;
            else error = addressed_try_send_to(call.socket, body, to, call.tracker);
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

void gw_init_addressed(void) {
    if (!gw_draft.available) return;
    rb_define_private_method(gw_cSocket, "_set_group", addressed_set_group, 2);
    rb_define_private_method(gw_cSocket, "_connect_peer", addressed_connect_peer, 1);
    rb_define_private_method(gw_cSocket, "_send_to", addressed_send_to, 4);
}
