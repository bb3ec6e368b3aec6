/* Sending: one try with ZMQ_DONTWAIT, whole messages only (law 3). */
#include "gem.h"

/* The peer of a REQ vanished in the middle of a request; the caller recreates the socket. */
enum { CUT = -1 };

static int send_bytes(gw_socket_t *socket, const char *data, size_t size, int flags) {
    zmq_msg_t message;
    int error = gw_message_init(&message, data, size);
    if (GW_UNLIKELY(error)) return error;
    error = GW_UNLIKELY(socket->buffered.indirect)
            ? gw_buffered_send(&socket->buffered, socket->zmq, socket->type, &message, flags)
            : gw_zmq_send(socket->zmq, &message, flags);
    if (GW_UNLIKELY(error)) zmq_msg_close(&message);
    else socket->sent = true;
    return error;
}

/* Sends the rest of a message to a socket that drops it. */
static void send_push_rest(gw_socket_t *socket, mrb_int remaining) {
    for (mrb_int i = remaining; i > 0; i--) send_bytes(socket, "", 0, i > 1 ? ZMQ_SNDMORE : 0);
}

/* libzmq gives EAGAIN in mid-message when the peer vanished (gw_cut). Returns an errno: EAGAIN when
 * no frame was sent; or CUT. */
static int send_frames(gw_socket_t *socket, const mrb_value *frames, mrb_int count) {
    int error;
    gw_cut_t cut;
    do {
        mrb_int i = 0;
        do {
            mrb_value frame = frames[i++];
            int flags = i < count ? ZMQ_SNDMORE : 0;
            error = send_bytes(socket, RSTRING_PTR(frame), RSTRING_LEN(frame), flags);
        } while (!error && i < count);
        if (GW_LIKELY(!error)) return 0;
        cut = gw_cut(socket->type, error, i > 1);
        if (cut == GW_NOT_CUT) return error;
        if (cut == GW_CUT_DROPS) send_push_rest(socket, count - i);
    } while (cut != GW_CUT_REQUEST);
    socket->cut = true;
    return CUT;
}

/* Before a wait: a send does not always empty libzmq's mailbox; a read of ZMQ_EVENTS does. */
static int send_try(gw_socket_t *socket, mrb_value message) {
    bool single = !mrb_array_p(message);
    const mrb_value *frames = single ? &message : RARRAY_PTR(message);
    mrb_int count = single ? 1 : RARRAY_LEN(message);
    if (GW_UNLIKELY(socket->cut)) return CUT;
    int error = send_frames(socket, frames, count);
    if (GW_LIKELY(error != EAGAIN)) return error;
    if (gw_socket_events(socket) < 0) return errno;
    return send_frames(socket, frames, count);
}

static bool send_valid(const gw_socket_t *socket, mrb_value message) {
    if (GW_LIKELY(mrb_string_p(message))) return true;
    if (!mrb_array_p(message) || RARRAY_LEN(message) == 0) return false;
    if (socket->conflates && RARRAY_LEN(message) > 1) return false;
    for (mrb_int i = 0; i < RARRAY_LEN(message); i++) {
        if (!mrb_string_p(RARRAY_PTR(message)[i])) return false;
    }
    return true;
}

static void send_check(mrb_state *mrb, const gw_socket_t *socket, mrb_value message,
        const char *operation, mrb_value self) {
    if (GW_UNLIKELY(!send_valid(socket, message))) gw_raise_message(mrb, message, operation, self);
}

/* _try_send(message) => self; nil: it would block; false: recreate the socket, which was cut */
static mrb_value send_message(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_open(mrb, self, "send");
    mrb_value message = mrb_get_arg1(mrb);
    send_check(mrb, socket, message, "send", self);
    int error = send_try(socket, message);
    if (GW_LIKELY(!error)) return self;
    if (error == EAGAIN) return mrb_nil_value();
    if (error == CUT) return mrb_false_value();
    gw_raise(mrb, error, "send", self, mrb_nil_value());
}

/* _try_send_many(messages, first) => how many were sent, from `first` on; nil: it would block;
 * false: it was cut. It raises only if this call has sent none. */
static mrb_value send_many(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_open(mrb, self, "send_many");
    mrb_value messages;
    mrb_int first, sent = 0;
    int error = 0;
    mrb_get_args(mrb, "Ai", &messages, &first);
    if (first < 0) return mrb_fixnum_value(0);
    for (mrb_int i = 0; first == 0 && i < RARRAY_LEN(messages); i++)
        send_check(mrb, socket, RARRAY_PTR(messages)[i], "send_many", self);
    for (; sent < GW_BATCH && first + sent < RARRAY_LEN(messages); sent++) {
        mrb_value message = RARRAY_PTR(messages)[first + sent];
        if (sent == 0) send_check(mrb, socket, message, "send_many", self);
        else if (!send_valid(socket, message)) break;
        if ((error = send_try(socket, message)) != 0) break;
    }
    if (sent > 0) return mrb_fixnum_value(sent);
    if (error == EAGAIN) return mrb_nil_value();
    if (error == CUT) return mrb_false_value();
    if (error) gw_raise(mrb, error, "send_many", self, mrb_nil_value());
    return mrb_fixnum_value(0);
}

void gw_init_send(mrb_state *mrb, struct RClass *socket) {
    mrb_define_method(mrb, socket, "_try_send", send_message, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, socket, "_try_send_many", send_many, MRB_ARGS_REQ(2));
}
