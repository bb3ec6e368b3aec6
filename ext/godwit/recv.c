/* The functions that receive: always with ZMQ_DONTWAIT and the GVL, whole messages only (laws 1 and
 * 3). */
#include "message.h"

enum { LARGE = 16 * 1024 }; /* bytes: malloc may return a longer String's memory to the system */

static VALUE recv_to_string(gw_socket_t *socket, zmq_msg_t *message) {
    size_t size = zmq_msg_size(message);
    const char *data = zmq_msg_data(message);
    /* The address of a DGRAM ends with a NUL. */
    if (RB_UNLIKELY(socket->form == GW_FORM_DATAGRAM) && zmq_msg_more(message) && size > 0 &&
            data[size - 1] == '\0')
        size--;
    if (RB_UNLIKELY(size >= LARGE)) gw_raise_trim_threshold();
    VALUE string = rb_str_new(data, size);
    if (RB_UNLIKELY(socket->encoding != rb_ascii8bit_encoding()))
        rb_enc_associate(string, socket->encoding);
    return string;
}

/* Returns a String, or a Frame that adopts the message. */
static inline VALUE recv_to_object(gw_socket_t *socket, zmq_msg_t *message, bool as_frames) {
    return as_frames ? gw_frame_adopt(message, socket->encoding) : recv_to_string(socket, message);
}

static inline size_t recv_size(VALUE frame, bool as_frames) {
    return as_frames ? gw_frame_bytes(frame) : (size_t)RSTRING_LEN(frame);
}

/* Adds the remaining frames of a message to its first frame. Returns the bytes of the added frames.
 * libzmq has received the last frame before it delivers the first one. */
static size_t recv_rest(gw_call_t *call, VALUE frames, bool as_frames) {
    zmq_msg_t message;
    size_t bytes = 0;
    bool more = true;
    zmq_msg_init(&message);
    while (more) {
        int error = gw_receive_frame(call->socket, &message);
        if (error) gw_raise(error, call->operation, call->self, Qnil);
        more = zmq_msg_more(&message);
        VALUE frame = recv_to_object(call->socket, &message, as_frames);
        bytes += recv_size(frame, as_frames);
        rb_ary_push(frames, frame);
    }
    zmq_msg_close(&message);
    return bytes;
}

/* Receives the rest of a message. The caller closes the first frame. */
static inline VALUE recv_whole(gw_call_t *call, zmq_msg_t *first, bool as_frames) {
    bool more = zmq_msg_more(first);
    VALUE result = recv_to_object(call->socket, first, as_frames);
    size_t bytes = recv_size(result, as_frames);
    if (RB_UNLIKELY(more)) {
        result = rb_ary_new_from_args(1, result);
        bytes += recv_rest(call, result, as_frames);
    }
    gw_count_received(call->socket, bytes);
    return result;
}

/* Returns a String or Frame, an Array of them, or Qundef when the call would block. */
static inline VALUE recv_try(gw_call_t *call, bool as_frames) {
    gw_socket_t *socket = call->socket;
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    /* A read of the events ends a REQ's wait for the reply of a departed peer. */
    if (RB_UNLIKELY(socket->stale_reply_pipe)) gw_socket_events(socket);
    int error = gw_receive_frame(socket, &frame);
    if (RB_UNLIKELY(error)) {
        if (error == EAGAIN) return Qundef;
        gw_raise(error, call->operation, call->self, Qnil);
    }
    socket->stale_reply_pipe = false;
    VALUE result = recv_whole(call, &frame, as_frames);
    zmq_msg_close(&frame);
    return result;
}

VALUE gw_recv_try(gw_call_t *call) { return recv_try(call, false); }

static void recv_refuse_publisher(gw_call_t *call) {
    if (RB_UNLIKELY(call->socket->publisher)) gw_raise(ENOTSUP, call->operation, call->self, Qnil);
}

/* Returns Qundef when time is up. */
static VALUE recv_waiting(gw_call_t *call, bool as_frames) {
    for (;;) {
        VALUE message = recv_try(call, as_frames);
        if (message != Qundef) return message;
        if (!gw_wait(call, ZMQ_POLLIN)) return Qundef;
    }
}

static gw_call_t recv_call(VALUE self, const char *operation, VALUE timeout) {
    gw_call_t call = gw_call(self, operation, 0);
    recv_refuse_publisher(&call);
    gw_set_deadline(&call, timeout, call.socket->receive_timeout);
    gw_begin(&call);
    return call;
}

static VALUE recv_one(gw_call_t call, bool as_frames) {
    VALUE message = recv_waiting(&call, as_frames);
    return message == Qundef ? Qnil : message;
}

/* _recv(timeout in ms or nil: the socket's) => String, Array, or nil when time is up */
static VALUE recv_message(VALUE self, VALUE timeout) {
    return recv_one(recv_call(self, "recv", timeout), false);
}

/* _recv_frame(timeout) => Frame, Array of a message's several Frames, or nil when time is up */
static VALUE recv_frame(VALUE self, VALUE timeout) {
    return recv_one(recv_call(self, "recv_frame", timeout), true);
}

typedef struct {
    gw_call_t *call;
    VALUE messages;
    long wanted;
    bool as_frames;
} recv_batch_t;

/* An error ends the batch but raises nothing; the next receive gets the same error and raises. */
static VALUE recv_rest_of_batch(VALUE argument) {
    recv_batch_t *batch = (recv_batch_t *)argument;
    gw_call_t *call = batch->call;
    size_t bytes = 0;
    zmq_msg_t first;
    zmq_msg_init(&first);
    while (RARRAY_LEN(batch->messages) < batch->wanted && bytes < GW_BATCH_BYTES &&
            gw_receive_frame(call->socket, &first) == 0) {
        size_t size = zmq_msg_size(&first);
        bytes += size;
        if (!batch->as_frames) {
            rb_ary_push(batch->messages, recv_whole(call, &first, false));
            continue;
        }
        bool more = zmq_msg_more(&first);
        rb_ary_push(batch->messages, gw_frame_adopt(&first, call->socket->encoding));
        if (more) size += recv_rest(call, batch->messages, true);
        gw_count_received(call->socket, size);
    }
    zmq_msg_close(&first);
    return Qnil;
}

/* Returns an Array of up to `wanted` messages, or of their frames; Qnil: time was up before the
 * first message. */
static VALUE recv_batch(gw_call_t *call, long wanted, bool as_frames) {
    if (wanted > GW_BATCH) wanted = GW_BATCH;
    VALUE message = recv_waiting(call, as_frames);
    if (message == Qundef) return Qnil;
    bool several = as_frames && RB_TYPE_P(message, T_ARRAY);
    VALUE messages = several ? message : rb_ary_new_capa(wanted < 64 ? wanted : 64);
    if (!several) rb_ary_push(messages, message);
    recv_batch_t batch = {
            .call = call, .messages = messages, .wanted = wanted, .as_frames = as_frames};
    gw_batch(call->socket, recv_rest_of_batch, (VALUE)&batch);
    RB_GC_GUARD(messages);
    return messages;
}

/* _recv_many(most, timeout) => Array of messages, or nil when time is up before the first */
static VALUE recv_many(VALUE self, VALUE most, VALUE timeout) {
    gw_call_t call = recv_call(self, "recv_many", timeout);
    return recv_batch(&call, NUM2LONG(most), false);
}

/* _recv_frames(most, timeout) => Array of the Frames of whole messages, or nil when time is up */
static VALUE recv_frames(VALUE self, VALUE most, VALUE timeout) {
    gw_call_t call = recv_call(self, "recv_frames", timeout);
    return recv_batch(&call, NUM2LONG(most), true);
}

/* _recv_into(buffer, timeout) => bytes; an Array of a message's several frames; nil: time is up */
static VALUE recv_into(VALUE self, VALUE buffer, VALUE timeout) {
    gw_call_t call = recv_call(self, "recv_into", timeout);
    Check_Type(buffer, T_STRING);
    zmq_msg_t message;
    zmq_msg_init(&message);
    int error;
    for (;;) {
        /* rb_str_modify raises for a frozen buffer. After the receive the message would be lost. */
        rb_str_modify(buffer);
        error = gw_receive_frame(call.socket, &message);
        if (error != EAGAIN) break;
        if (!gw_wait(&call, ZMQ_POLLIN)) return Qnil;
    }
    if (error) gw_raise(error, "recv_into", self, Qnil);
    if (zmq_msg_more(&message)) {
        VALUE frames = recv_whole(&call, &message, false);
        zmq_msg_close(&message);
        return frames;
    }
    size_t size = zmq_msg_size(&message);
    rb_str_set_len(buffer, 0);
    rb_str_cat(buffer, zmq_msg_data(&message), size);
    rb_enc_associate(buffer, call.socket->encoding);
    zmq_msg_close(&message);
    gw_count_received(call.socket, size);
    return SIZET2NUM(size);
}

/* ---- public methods that replace the Ruby versions, for speed (bench/) ---- */

static VALUE recv_fast(VALUE self) {
    gw_call_t call = {.self = self, .operation = "recv"};
    call.socket = gw_fast_socket(self, GW_FORM_NAMED);
    VALUE message;
    if (RB_LIKELY(call.socket != NULL)) {
        message = recv_try(&call, false);
        if (RB_LIKELY(message != Qundef)) return message;
        gw_call_set_deadline(&call, call.socket->receive_timeout);
        message = gw_wait(&call, ZMQ_POLLIN) ? recv_waiting(&call, false) : Qundef;
    } else {
        call = recv_call(self, "recv", Qnil);
        message = recv_waiting(&call, false);
    }
    if (message == Qundef) gw_raise(ETIMEDOUT, "recv", self, Qnil);
    return message;
}

static VALUE recv_takeover(int argc, VALUE *argv, VALUE self) {
    if (argc == 0) return recv_fast(self);
    if (argc > rb_keyword_given_p()) gw_raise_arguments(argc, argv, "recv");
    return rb_call_super_kw(argc, argv, RB_PASS_CALLED_KEYWORDS);
}

void gw_init_recv(VALUE takeover) {
    rb_define_private_method(gw_cSocket, "_recv", recv_message, 1);
    rb_define_private_method(gw_cSocket, "_recv_many", recv_many, 2);
    rb_define_private_method(gw_cSocket, "_recv_frame", recv_frame, 1);
    rb_define_private_method(gw_cSocket, "_recv_frames", recv_frames, 2);
    rb_define_private_method(gw_cSocket, "_recv_into", recv_into, 2);
    rb_define_method(takeover, "recv", recv_takeover, -1);
}
