/* Receiving: one try with ZMQ_DONTWAIT, whole messages only (law 3). A message stays in the socket
 * until the VM has it: if the VM has no memory for it, the next call gives it. */
#include "gem.h"
#include <mruby/error.h>

enum { RETAINED = 1024 }; /* bytes of a received frame that may stay in memory */

static int recv_frame(gw_socket_t *socket, zmq_msg_t *frame) {
    return GW_UNLIKELY(socket->buffered.indirect)
            ? gw_buffered_receive(&socket->buffered, socket->zmq, socket->type, frame)
            : gw_zmq_receive(socket->zmq, frame);
}

/* Adds the rest of a message to its first frame; returns an errno. libzmq has the last frame before
 * it gives the first. */
static int recv_rest(gw_socket_t *socket) {
    bool more = true;
    int error = 0;
    zmq_msg_t frame;
    zmq_msg_init(&frame);
    while (more && !error && !(error = recv_frame(socket, &frame))) {
        more = zmq_msg_more(&frame);
        error = gw_frames_add(&socket->rest, &frame);
    }
    zmq_msg_close(&frame);
    if (error) gw_frames_clear(&socket->rest);
    return error;
}

/* Returns an errno. */
static int recv_whole(gw_socket_t *socket) {
    if (GW_UNLIKELY(socket->stored)) return 0;
    int error = recv_frame(socket, &socket->first);
    if (GW_LIKELY(!error) && zmq_msg_more(&socket->first)) error = recv_rest(socket);
    socket->stored = !error;
    socket->drained = error == EAGAIN;
    return error;
}

static mrb_value recv_string(mrb_state *mrb, zmq_msg_t *frame) {
    return mrb_str_new(mrb, zmq_msg_data(frame), zmq_msg_size(frame));
}

/* The received message, as a String or an Array. Raises if the VM has no memory. */
static mrb_value recv_value(mrb_state *mrb, gw_socket_t *socket) {
    mrb_value result = recv_string(mrb, &socket->first);
    const gw_frames_t *rest = &socket->rest;
    if (GW_LIKELY(rest->last == 0)) return result;
    mrb_value frames = mrb_ary_new_capa(mrb, rest->last + 1);
    mrb_ary_push(mrb, frames, result);
    int arena = mrb_gc_arena_save(mrb);
    for (int i = 0; i < rest->last; i++) {
        mrb_ary_push(mrb, frames, recv_string(mrb, &rest->messages[i]));
        mrb_gc_arena_restore(mrb, arena);
    }
    return frames;
}

/* The VM has the message. */
static void recv_done(gw_socket_t *socket) {
    gw_frames_clear(&socket->rest);
    socket->stored = false;
    if (GW_LIKELY(zmq_msg_size(&socket->first) <= RETAINED)) return;
    zmq_msg_close(&socket->first);
    zmq_msg_init(&socket->first);
}

/* _try_recv => String, Array, or nil: it would block */
static mrb_value recv_message(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_open(mrb, self, "recv");
    int error = recv_whole(socket);
    if (error == EAGAIN) return mrb_nil_value();
    if (GW_UNLIKELY(error)) gw_raise(mrb, error, "recv", self, mrb_nil_value());
    mrb_value message = recv_value(mrb, socket);
    recv_done(socket);
    return message;
}

typedef struct {
    gw_socket_t *socket;
    mrb_value messages;
    mrb_int wanted;
} recv_batch_t;

/* An error of libzmq ends the batch without raising; the next call meets it again. */
static mrb_value recv_batch(mrb_state *mrb, void *argument) {
    recv_batch_t *batch = argument;
    gw_socket_t *socket = batch->socket;
    int arena = mrb_gc_arena_save(mrb);
    size_t bytes = 0;
    do {
        bytes += zmq_msg_size(&socket->first);
        mrb_ary_push(mrb, batch->messages, recv_value(mrb, socket));
        recv_done(socket);
        mrb_gc_arena_restore(mrb, arena);
    } while (RARRAY_LEN(batch->messages) < batch->wanted && bytes < GW_BATCH_BYTES &&
            recv_whole(socket) == 0);
    return mrb_nil_value();
}

/* _try_recv_many(most) => Array of messages, or nil: it would block. If the VM has no memory for
 * the next message, those before it are the result. */
static mrb_value recv_many(mrb_state *mrb, mrb_value self) {
    recv_batch_t batch = {.socket = gw_socket_open(mrb, self, "recv_many")};
    mrb_get_args(mrb, "i", &batch.wanted);
    if (batch.wanted > GW_BATCH) batch.wanted = GW_BATCH;
    int error = recv_whole(batch.socket);
    if (error == EAGAIN) return mrb_nil_value();
    if (error) gw_raise(mrb, error, "recv_many", self, mrb_nil_value());
    batch.messages = mrb_ary_new_capa(mrb, batch.wanted < 64 ? batch.wanted : 64);
    mrb_bool failed;
    mrb_value exception = mrb_protect_error(mrb, recv_batch, &batch, &failed);
    if (failed && RARRAY_LEN(batch.messages) == 0) mrb_exc_raise(mrb, exception);
    return batch.messages;
}

void gw_init_recv(mrb_state *mrb, struct RClass *socket) {
    mrb_define_method(mrb, socket, "_try_recv", recv_message, MRB_ARGS_NONE());
    mrb_define_method(mrb, socket, "_try_recv_many", recv_many, MRB_ARGS_REQ(1));
}
