/* The functions that send: always with ZMQ_DONTWAIT and the GVL, whole messages only (laws 1 and
 * 3). */
#include "message.h"

static VALUE message_class;
static ID id_frames;

/* Adopts the message, and closes it after an error. Returns an errno. */
static int send_hand_over(gw_socket_t *socket, zmq_msg_t *message, int flags) {
    int error = gw_send_frame(socket, message, flags);
    if (RB_UNLIKELY(error)) zmq_msg_close(message);
    return error;
}

static int send_bytes(gw_socket_t *socket, const char *data, size_t size, int flags) {
    zmq_msg_t message;
    int error = gw_message_init(&message, data, size);
    return error ? error : send_hand_over(socket, &message, flags);
}

/* Makes a message of the String's own bytes if they cannot move (pin.c), else of a copy. */
static int send_fill_large(VALUE string, zmq_msg_t *message, gw_tracker_t *tracker) {
    gw_pin_t *pin;
    gw_raise_trim_threshold();
    if (!gw_can_pin(string))
        return gw_message_init(message, RSTRING_PTR(string), RSTRING_LEN(string));
    int error = gw_pin_message(message, string, tracker ? &pin : NULL);
    if (!error && tracker && (error = gw_pin_watch(pin, tracker)) != 0) zmq_msg_close(message);
    return error;
}

static inline int send_fill(
        const gw_socket_t *socket, VALUE string, zmq_msg_t *message, gw_tracker_t *tracker) {
    size_t size = RSTRING_LEN(string);
    if (RB_UNLIKELY(size >= socket->copy_threshold))
        return send_fill_large(string, message, tracker);
    return gw_message_init(message, RSTRING_PTR(string), size);
}

int gw_outgoing_message(
        const gw_socket_t *socket, VALUE frame, zmq_msg_t *message, gw_tracker_t *tracker) {
    if (RB_TYPE_P(frame, T_STRING)) return send_fill(socket, frame, message, tracker);
    int error = gw_frame_share(frame, message);
    if (!error && tracker && (error = gw_frame_watch(frame, tracker)) != 0) zmq_msg_close(message);
    return error;
}

size_t gw_outgoing_size(VALUE frame) {
    return RB_TYPE_P(frame, T_STRING) ? (size_t)RSTRING_LEN(frame) : gw_frame_bytes(frame);
}

void gw_outgoing_sent(VALUE frame) {
    if (gw_is_frame(frame)) gw_frame_sent(frame);
}

static int send_frame(gw_socket_t *socket, VALUE frame, int flags, gw_tracker_t *tracker) {
    zmq_msg_t message;
    int error = gw_outgoing_message(socket, frame, &message, tracker);
    return error ? error : send_hand_over(socket, &message, flags);
}

static int send_set_relaxed(gw_socket_t *socket, bool relaxed) {
    int value = relaxed;
    return gw_socket_set(socket, ZMQ_REQ_RELAXED, &value, sizeof value);
}

/* ---- a REQ whose peer vanished in mid-message (ADR 3) ---- */

/* Makes a bound REQ able to begin a request again. (send_recreate recreates a connected REQ.)
 * Returns an errno. */
static int send_repair_request(gw_socket_t *socket) {
    int error;
    switch (socket->repair) {
    case GW_REQ_INTACT: return 0;
    case GW_REQ_CUT: return EAGAIN;
    case GW_REQ_NEEDS_DELIMITER: /* libzmq adds no delimiter to the next request: send it here */
        error = send_bytes(socket, "", 0, ZMQ_SNDMORE);
        if (!error) socket->repair = GW_REQ_INTACT;
        return error;
    case GW_REQ_NEEDS_END: /* an empty frame, which no REP accepts, ends the request */
        error = send_bytes(socket, "", 0, 0);
        if (error) return error;
        socket->repair = GW_REQ_NEEDS_RELAX;
        /* fall through */
    case GW_REQ_NEEDS_RELAX: /* lets the REQ send without the reply; the caller resets the option */
        return send_set_relaxed(socket, true);
    }
    return 0;
}

/* Replaces the libzmq socket of a REQ that only connects; a bound REQ needs a repair instead. */
static void send_recreate(VALUE self, gw_socket_t *socket) {
    long remaining = socket->cut_remaining;
    if (RTEST(rb_funcall(self, rb_intern("_recreate"), 0))) return;
    gw_send_rest(socket, remaining);
    if (remaining > 0) socket->repair = GW_REQ_NEEDS_RELAX;
    else socket->repair = socket->correlate ? GW_REQ_NEEDS_END : GW_REQ_NEEDS_DELIMITER;
    socket->stale_reply_pipe = true;
}

static void send_mark_sent(VALUE message) {
    if (!RB_TYPE_P(message, T_ARRAY)) return gw_outgoing_sent(message);
    for (long i = 0; i < RARRAY_LEN(message); i++) gw_outgoing_sent(RARRAY_AREF(message, i));
}

/* Sends a whole message; returns an errno. libzmq gives EAGAIN in mid-message if the peer vanished
 * (gw_cut). This function returns EAGAIN if it sent no frame, or only some frames on a REQ. */
static int send_try_frames(gw_socket_t *socket, VALUE message, gw_tracker_t *tracker) {
    bool single = !RB_TYPE_P(message, T_ARRAY);
    long count = single ? 1 : RARRAY_LEN(message), i;
    size_t bytes;
    int error;
    gw_cut_t cut;
    /* A DGRAM that is not bound drops messages without an errno. */
    if (RB_UNLIKELY(socket->form == GW_FORM_DATAGRAM)) {
        int events = gw_socket_events(socket);
        if (events < 0) return errno;
        if (!(events & ZMQ_POLLOUT)) return EAGAIN;
    }
    do {
        bool begun = socket->repair == GW_REQ_NEEDS_DELIMITER;
        error = RB_UNLIKELY(socket->repair != GW_REQ_INTACT) ? send_repair_request(socket) : 0;
        bytes = 0;
        for (i = 0; !error && i < count; i++) {
            VALUE frame = single ? message : RARRAY_AREF(message, i);
            bytes += gw_outgoing_size(frame);
            error = send_frame(socket, frame, i + 1 < count ? ZMQ_SNDMORE : 0, tracker);
        }
        if (RB_UNLIKELY(socket->repair == GW_REQ_NEEDS_RELAX)) {
            send_set_relaxed(socket, socket->relaxed);
            /* If the first frame was sent, libzmq has begun a new request. */
            if (i > 1 || !error) socket->repair = GW_REQ_INTACT;
        }
        if (RB_LIKELY(!error)) {
            if (!RB_TYPE_P(message, T_STRING)) send_mark_sent(message);
            gw_count_sent(socket, bytes);
            return 0;
        }
        cut = gw_cut(socket->type, error, i > 1 || (i == 1 && begun));
        if (cut == GW_NOT_CUT) return error;
        if (cut == GW_CUT_DROPS) gw_send_rest(socket, count - i);
    } while (cut != GW_CUT_REQUEST);
    socket->repair = GW_REQ_CUT;
    socket->cut_remaining = count - i;
    return EAGAIN;
}

/* Returns whether the socket can send a message of this number of frames. */
static bool send_fits(const gw_socket_t *socket, long frames) {
    switch (socket->form) {
    case GW_FORM_ANY: return true;
    case GW_FORM_SINGLE: return frames == 1;
    case GW_FORM_NAMED: return frames > 1; /* libzmq drops a message that is only a routing id */
    case GW_FORM_DATAGRAM: return frames == 2;
    default: return false; /* the other forms need an address: see addressed.c */
    }
}

/* Returns whether the message would exceed libzmq's buffer for UDP packets. */
static bool send_too_large(const gw_socket_t *socket, VALUE message) {
    return socket->form == GW_FORM_DATAGRAM &&
            gw_outgoing_size(RARRAY_AREF(message, 1)) > GW_UDP_BYTES;
}

static inline bool send_valid_frame(VALUE frame) {
    return RB_LIKELY(RB_TYPE_P(frame, T_STRING)) ||
            (gw_is_frame(frame) && gw_frame_sendable(frame));
}

static bool send_valid(const gw_socket_t *socket, VALUE message) {
    if (RB_LIKELY(!RB_TYPE_P(message, T_ARRAY)))
        return send_valid_frame(message) && send_fits(socket, 1);
    for (long i = 0; i < RARRAY_LEN(message); i++) {
        if (!send_valid_frame(RARRAY_AREF(message, i))) return false;
    }
    return RARRAY_LEN(message) != 0 && send_fits(socket, RARRAY_LEN(message));
}

static void send_check(const gw_call_t *call, VALUE message) {
    const char *operation = call->operation;
    if (RB_UNLIKELY(!send_valid(call->socket, message))) {
        if (gw_is_frame(message)) gw_frame_check(message, operation);
        for (long i = 0; RB_TYPE_P(message, T_ARRAY) && i < RARRAY_LEN(message); i++) {
            VALUE frame = RARRAY_AREF(message, i);
            if (gw_is_frame(frame)) gw_frame_check(frame, operation);
        }
        gw_raise_message(message, operation, call->self);
    }
    if (RB_UNLIKELY(send_too_large(call->socket, message)))
        gw_raise(EMSGSIZE, operation, call->self, Qnil);
}

static inline VALUE send_frames_of(VALUE message) {
    if (RB_LIKELY(!RB_TYPE_P(message, T_OBJECT)) ||
            !RTEST(rb_obj_is_kind_of(message, message_class)))
        return message;
    return rb_ivar_get(message, id_frames);
}

/* Returns a copy that other threads cannot change during a wait. */
static VALUE send_snapshot(VALUE message) {
    if (RB_TYPE_P(message, T_STRING)) return rb_str_new_frozen(message);
    if (!RB_TYPE_P(message, T_ARRAY)) return message;
    VALUE copy = rb_ary_new_capa(RARRAY_LEN(message));
    for (long i = 0; i < RARRAY_LEN(message); i++)
        rb_ary_push(copy, send_snapshot(RARRAY_AREF(message, i)));
    return copy;
}

/* Returns false when the send would block. Raises every other error. */
static bool send_try(gw_call_t *call, VALUE message) {
    gw_socket_t *socket = call->socket;
    int error;
    while ((error = send_try_frames(socket, message, call->tracker)) == EAGAIN &&
            RB_UNLIKELY(socket->repair == GW_REQ_CUT)) {
        send_recreate(call->self, socket);
        gw_socket_open(call->self, call->operation); /* Ruby code may have closed the socket */
        send_check(call, message);                   /* Ruby code may have changed the message */
    }
    if (RB_LIKELY(!error)) return true;
    if (error != EAGAIN) gw_raise(error, call->operation, call->self, Qnil);
    return false;
}

/* Tries again before a wait: a send does not always empty libzmq's mailbox, but a read of
 * ZMQ_EVENTS does. */
static bool send_drain_and_retry(gw_call_t *call, VALUE message) {
    if (gw_socket_events(call->socket) < 0) gw_raise(errno, call->operation, call->self, Qnil);
    return send_try(call, message);
}

/* A PUB at its high-water mark drops messages, and does not wait, unless xpub_no_drop is set. */
static bool send_waiting(gw_call_t *call, VALUE message) {
    VALUE snapshot = Qnil;
    while (!send_try(call, message) && !send_drain_and_retry(call, message)) {
        if (call->deadline == 0) return false;
        if (NIL_P(snapshot)) message = snapshot = send_snapshot(message);
        if (!gw_wait(call, ZMQ_POLLOUT)) return false;
        send_check(call, message); /* another thread may have sent or closed a Frame */
    }
    RB_GC_GUARD(snapshot);
    return true;
}

/* A PUB drains its subscriptions regularly, so that a peer cannot fill the memory with them. */
static void send_begin(gw_call_t *call) {
    gw_begin(call);
    if (!call->socket->publisher) return;
    int64_t now = gw_milliseconds_now();
    if (now - call->socket->drained < GW_SUBSCRIPTIONS_EVERY) return;
    call->socket->drained = now;
    gw_drain_subscriptions(call->socket);
}

/* _send(message, timeout in ms or nil: the socket's, Tracker or nil) => true; false: time is up */
static VALUE send_message(VALUE self, VALUE message, VALUE timeout, VALUE tracker) {
    gw_call_t call = gw_call(self, "send", 0);
    message = send_frames_of(message);
    call.tracker = NIL_P(tracker) ? NULL : gw_tracker_get(tracker);
    gw_set_deadline(&call, timeout, call.socket->send_timeout);
    send_begin(&call);
    send_check(&call, message); /* other fibers may have changed the message */
    bool sent = send_waiting(&call, message);
    RB_GC_GUARD(tracker);
    return RBOOL(sent);
}

typedef struct {
    gw_socket_t *socket;
    VALUE messages;
    long start, sent;
} send_batch_t;

static VALUE send_rest_of_batch(VALUE argument) {
    send_batch_t *batch = (send_batch_t *)argument;
    gw_socket_t *socket = batch->socket;
    for (; batch->sent < GW_BATCH; batch->sent++) {
        long index = batch->start + batch->sent;
        if (index >= RARRAY_LEN(batch->messages)) break;
        VALUE message = send_frames_of(RARRAY_AREF(batch->messages, index));
        if (!send_valid(socket, message) || send_too_large(socket, message)) break;
        if (send_try_frames(socket, message, NULL) != 0) break;
    }
    return Qnil;
}

/* _send_many(messages, first, timeout) => the number of messages sent, from `first` on; 0 when time
 * is up. Raises only if this call has sent none. */
static VALUE send_many(VALUE self, VALUE messages, VALUE first, VALUE timeout) {
    gw_call_t call = gw_call(self, "send_many", 0);
    gw_set_deadline(&call, timeout, call.socket->send_timeout);
    long start = NUM2LONG(first);
    Check_Type(messages, T_ARRAY);
    for (long i = 0; start == 0 && i < RARRAY_LEN(messages); i++)
        send_check(&call, send_frames_of(RARRAY_AREF(messages, i)));
    send_begin(&call);
    if (start >= RARRAY_LEN(messages)) return INT2FIX(0);
    VALUE message = send_frames_of(RARRAY_AREF(messages, start));
    send_check(&call, message);
    if (!send_waiting(&call, message)) return INT2FIX(0);
    send_batch_t batch = {.socket = call.socket, .messages = messages, .start = start, .sent = 1};
    gw_batch(call.socket, send_rest_of_batch, (VALUE)&batch);
    RB_GC_GUARD(messages);
    return LONG2NUM(batch.sent);
}

/* ---- public methods that replace the Ruby versions, for speed (bench/) ---- */

ALWAYS_INLINE(static int send_string(gw_socket_t *socket, VALUE string));
static inline int send_string(gw_socket_t *socket, VALUE string) {
    zmq_msg_t message;
    int error = send_fill(socket, string, &message, NULL);
    if (RB_UNLIKELY(error || (error = send_hand_over(socket, &message, 0)))) return error;
    gw_count_sent(socket, RSTRING_LEN(string));
    return 0;
}

int gw_send_string(gw_socket_t *socket, VALUE string) { return send_string(socket, string); }

static VALUE send_fast(VALUE self, VALUE message) {
    gw_socket_t *socket = gw_fast_socket(self, GW_FORM_SINGLE);
    if (RB_LIKELY(socket && RB_TYPE_P(message, T_STRING))) {
        int error = send_string(socket, message);
        if (RB_LIKELY(!error)) return self;
        if (error != EAGAIN) gw_raise(error, "send", self, Qnil);
    }
    gw_call_t call = gw_call(self, "send", 0);
    message = send_frames_of(message);
    send_begin(&call);
    send_check(&call, message); /* other fibers may have changed the message */
    if (RB_LIKELY(send_try(&call, message))) return self;
    gw_call_set_deadline(&call, call.socket->send_timeout);
    if (!send_waiting(&call, message)) gw_raise(ETIMEDOUT, "send", self, Qnil);
    return self;
}

static VALUE send_takeover(int argc, VALUE *argv, VALUE self) {
    if (argc == 1) return send_fast(self, argv[0]);
    if (argc - rb_keyword_given_p() > 1) gw_raise_arguments(argc, argv, "send");
    return rb_call_super_kw(argc, argv, RB_PASS_CALLED_KEYWORDS);
}

void gw_init_send(VALUE takeover) {
    message_class = rb_define_class_under(gw_mGodwit, "Message", rb_cObject);
    rb_gc_register_mark_object(message_class);
    id_frames = rb_intern("@frames");
    rb_define_private_method(gw_cSocket, "_send", send_message, 3);
    rb_define_private_method(gw_cSocket, "_send_many", send_many, 3);
    rb_define_method(takeover, "send", send_takeover, -1);
    rb_define_method(takeover, "<<", send_fast, 1);
}
