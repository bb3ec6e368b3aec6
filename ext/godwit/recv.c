/* Receiving: always ZMQ_DONTWAIT with the GVL held, whole messages only (laws 1 and 3). */
#include "godwit.h"
#include <errno.h>

enum {
    BATCH = 1024,              /* most messages of recv_many per crossing */
    BATCH_BYTES = 64 << 20,    /* and most bytes, about */
};

static VALUE
to_string(gw_socket_t *socket, zmq_msg_t *message)
{
    size_t size = zmq_msg_size(message);
    const char *data = zmq_msg_data(message);
    if (RB_UNLIKELY(socket->form == GW_FORM_DATAGRAM) && zmq_msg_more(message) && size > 0 && data[size - 1] == '\0') size--; /* of an address */
    VALUE string = rb_str_new(data, size);
    if (RB_UNLIKELY(socket->encoding != rb_ascii8bit_encoding())) rb_enc_associate(string, socket->encoding);
    return string;
}

static int
receive_frame(gw_socket_t *socket, zmq_msg_t *message)
{
    while (zmq_msg_recv(message, socket->zmq, ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

/* The rest of a message whose first frame is `string`: libzmq hands out no first frame before the last one is there. */
static VALUE
receive_rest(VALUE self, gw_socket_t *socket, const char *operation, zmq_msg_t *message, VALUE string)
{
    VALUE frames = rb_ary_new_from_args(1, string);
    while (zmq_msg_more(message)) {
        int error = receive_frame(socket, message);
        if (error) gw_raise(error, operation, self, Qnil);
        rb_ary_push(frames, to_string(socket, message));
    }
    return frames;
}

/* One try: a String, an Array of Strings, or Qundef when it would block. */
static inline VALUE
try_receive(VALUE self, gw_socket_t *socket, const char *operation)
{
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    if (RB_UNLIKELY(socket->stale_reply_pipe)) gw_socket_events(socket); /* lets libzmq forget the peer that is gone first */
    int error = receive_frame(socket, &frame);
    if (RB_UNLIKELY(error)) {
        gw_settle(socket);
        if (error == EAGAIN) return Qundef;
        gw_raise(error, operation, self, Qnil);
    }
    socket->stale_reply_pipe = false;
    VALUE result = to_string(socket, &frame);
    if (RB_UNLIKELY(zmq_msg_more(&frame))) result = receive_rest(self, socket, operation, &frame, result);
    zmq_msg_close(&frame);
    gw_settle_turn(socket);
    return result;
}

static void
begin(gw_call_t *call)
{
    gw_give_way(call);
    if (RB_UNLIKELY(call->socket->peers != NULL)) gw_peers_stop(call->socket);
}

static void
refuse_publisher(gw_call_t *call)
{
    if (RB_UNLIKELY(call->socket->publisher)) gw_raise(ENOTSUP, call->operation, call->self, Qnil);
}

/* Qundef: time is up. */
static VALUE
receive_waiting(gw_call_t *call)
{
    for (;;) {
        VALUE message = try_receive(call->self, call->socket, call->operation);
        if (message != Qundef) return message;
        if (!gw_wait(call, ZMQ_POLLIN)) return Qundef;
    }
}

static gw_call_t
call_to_receive(VALUE self, const char *operation, VALUE timeout)
{
    gw_call_t call = gw_call(self, operation, 0);
    refuse_publisher(&call);
    call.deadline = gw_deadline(gw_milliseconds(timeout, call.socket->receive_timeout));
    begin(&call);
    return call;
}

/* ---- primitives ---- */

/* _recv(timeout in ms, nil: the socket's own) => String, Array, or nil when time is up */
static VALUE
socket_recv(VALUE self, VALUE timeout)
{
    gw_call_t call = call_to_receive(self, "recv", timeout);
    VALUE message = receive_waiting(&call);
    return message == Qundef ? Qnil : message;
}

/* _recv_many(most, timeout) => Array of messages, or nil when time is up before the first */
static VALUE
socket_recv_many(VALUE self, VALUE most, VALUE timeout)
{
    gw_call_t call = call_to_receive(self, "recv_many", timeout);
    long wanted = NUM2LONG(most);
    size_t bytes = 0;
    if (wanted > BATCH) wanted = BATCH;
    VALUE message = receive_waiting(&call);
    if (message == Qundef) return Qnil;

    VALUE messages = rb_ary_new_capa(wanted < 64 ? wanted : 64);
    rb_ary_push(messages, message);
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    while (RARRAY_LEN(messages) < wanted && bytes < BATCH_BYTES && receive_frame(call.socket, &frame) == 0) {
        bytes += zmq_msg_size(&frame); /* an error waits for the next call: what came is handed out */
        message = to_string(call.socket, &frame);
        if (RB_UNLIKELY(zmq_msg_more(&frame))) message = receive_rest(self, call.socket, "recv_many", &frame, message);
        rb_ary_push(messages, message);
    }
    zmq_msg_close(&frame);
    gw_settle_turn(call.socket);
    return messages;
}

/* _recv_into(buffer, timeout) => bytes; an Array of frames when the message has several; nil when time is up */
static VALUE
socket_recv_into(VALUE self, VALUE buffer, VALUE timeout)
{
    gw_call_t call = call_to_receive(self, "recv_into", timeout);
    Check_Type(buffer, T_STRING);
    zmq_msg_t message;
    zmq_msg_init(&message);
    int error;
    for (;;) {
        rb_str_modify(buffer); /* one that was frozen or copied, also while we waited, raises or gets its own memory before a message is taken */
        error = receive_frame(call.socket, &message);
        if (error != EAGAIN) break;
        gw_settle(call.socket);
        if (!gw_wait(&call, ZMQ_POLLIN)) return Qnil;
    }
    if (error) {
        gw_settle(call.socket);
        gw_raise(error, "recv_into", self, Qnil);
    }
    if (zmq_msg_more(&message)) {
        VALUE frames = receive_rest(self, call.socket, "recv_into", &message, to_string(call.socket, &message));
        zmq_msg_close(&message);
        gw_settle_turn(call.socket);
        return frames;
    }
    size_t size = zmq_msg_size(&message);
    rb_str_set_len(buffer, 0);
    rb_str_cat(buffer, zmq_msg_data(&message), size);
    rb_enc_associate(buffer, call.socket->encoding);
    zmq_msg_close(&message);
    gw_settle_turn(call.socket);
    return SIZET2NUM(size);
}

/* ---- public methods that the extension takes over, for speed (bench/) ---- */

static VALUE
fast_recv(VALUE self)
{
    gw_socket_t *socket = gw_quick(self);
    VALUE message;
    if (RB_LIKELY(socket != NULL)) {
        message = try_receive(self, socket, "recv");
        if (RB_LIKELY(message != Qundef)) return message;
    }
    gw_call_t call = gw_call(self, "recv", 0);
    call.deadline = gw_deadline(call.socket->receive_timeout);
    if (!socket) {
        refuse_publisher(&call);
        begin(&call);
        message = receive_waiting(&call);
    }
    else { /* libzmq has just said EAGAIN */
        message = gw_wait(&call, ZMQ_POLLIN) ? receive_waiting(&call) : Qundef;
    }
    if (message == Qundef) gw_raise(ETIMEDOUT, "recv", self, Qnil);
    return message;
}

static VALUE
takeover_recv(int argc, VALUE *argv, VALUE self)
{
    return argc == 0 ? fast_recv(self) : rb_call_super_kw(argc, argv, RB_PASS_CALLED_KEYWORDS);
}

void
gw_init_recv(VALUE takeover)
{
    VALUE class = rb_const_get(gw_mGodwit, rb_intern("Socket"));
    rb_define_private_method(class, "_recv", socket_recv, 1);
    rb_define_private_method(class, "_recv_many", socket_recv_many, 2);
    rb_define_private_method(class, "_recv_into", socket_recv_into, 2);
    rb_define_method(takeover, "recv", takeover_recv, -1);
}
