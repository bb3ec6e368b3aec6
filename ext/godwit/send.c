/* Sending: always ZMQ_DONTWAIT with the GVL held, whole messages only (laws 1 and 3). */
#include "godwit.h"
#include <errno.h>
#include <string.h>

enum {
    BATCH = 1024,     /* messages of send_many per crossing */
    DRAIN_EVERY = 10, /* ms between two looks of a PUB at its subscriptions */
};

static VALUE message_class;
static ID id_frames;

/* Takes the message over, also when it fails; gives an errno. */
static int
hand_over(gw_socket_t *socket, zmq_msg_t *message, int flags)
{
    int error = gw_send_frame(socket, message, flags);
    if (RB_UNLIKELY(error)) zmq_msg_close(message);
    else socket->sent = true;
    return error;
}

static int
send_bytes(gw_socket_t *socket, const char *data, size_t size, int flags)
{
    zmq_msg_t message;
    int error = gw_message_init(&message, data, size);
    return error ? error : hand_over(socket, &message, flags);
}

/* In its own place, if the String stays there (law 6). */
static int
fill_large(VALUE string, zmq_msg_t *message, gw_tracker_t *tracker)
{
    gw_pin_t *pin;
    if (!gw_can_pin(string)) return gw_message_init(message, RSTRING_PTR(string), RSTRING_LEN(string));
    int error = gw_pin_message(message, string, tracker ? &pin : NULL);
    if (!error && tracker && (error = gw_pin_watch(pin, tracker)) != 0) zmq_msg_close(message);
    return error;
}

static inline int
fill(const gw_socket_t *socket, VALUE string, zmq_msg_t *message, gw_tracker_t *tracker)
{
    size_t size = RSTRING_LEN(string);
    if (RB_UNLIKELY(size >= socket->copy_threshold)) return fill_large(string, message, tracker);
    return gw_message_init(message, RSTRING_PTR(string), size);
}

/* A message of a String, or of a Frame, which keeps its bytes until gw_part_sent; gives an errno. */
int
gw_part_message(const gw_socket_t *socket, VALUE part, zmq_msg_t *message, gw_tracker_t *tracker)
{
    if (RB_TYPE_P(part, T_STRING)) return fill(socket, part, message, tracker);
    int error = gw_frame_share(part, message);
    if (!error && tracker && (error = gw_frame_watch(part, tracker)) != 0) zmq_msg_close(message);
    return error;
}

size_t
gw_part_size(VALUE part)
{
    return RB_TYPE_P(part, T_STRING) ? (size_t)RSTRING_LEN(part) : gw_frame_bytes(part);
}

void
gw_part_sent(VALUE part)
{
    if (gw_is_frame(part)) gw_frame_sent(part);
}

static int
send_part(gw_socket_t *socket, VALUE part, int flags, gw_tracker_t *tracker)
{
    zmq_msg_t message;
    int error = gw_part_message(socket, part, &message, tracker);
    return error ? error : hand_over(socket, &message, flags);
}

static int
set_relaxed(gw_socket_t *socket, bool relaxed)
{
    int value = relaxed;
    return zmq_setsockopt(socket->zmq, ZMQ_REQ_RELAXED, &value, sizeof value) == 0 ? 0 : errno;
}

/* ---- a REQ that was cut in mid-message (ADR 3) ---- */

/* Only for a REQ that is bound; one that is connected is made anew (mend). Brings it back to where a request begins. */
static int
repair_request(gw_socket_t *socket)
{
    int error = 0;
    switch (socket->repair) {
      case GW_REQ_SOUND:
        return 0;
      case GW_REQ_CUT:
        return EAGAIN;
      case GW_REQ_OWES_DELIMITER: /* it takes the next frame for a later part: write the delimiter ourselves */
        error = send_bytes(socket, "", 0, ZMQ_SNDMORE);
        if (error) return error;
        socket->repair = GW_REQ_SOUND;
        return 0;
      case GW_REQ_OWES_END: /* its request id is unknown to us: end that request with an empty frame, which no REP takes */
        error = send_bytes(socket, "", 0, 0);
        if (error) return error;
        socket->repair = GW_REQ_OWES_RELAX;
        /* fall through */
      case GW_REQ_OWES_RELAX: /* it waits for a reply to what nobody got: RELAXED lets it send again, and the caller resets it */
        return set_relaxed(socket, true);
    }
    return 0;
}

/* Pushes the rest of a message through a socket that drops it. */
static void
push_rest(gw_socket_t *socket, long left)
{
    for (long i = left; i > 0; i--) send_bytes(socket, "", 0, i > 1 ? ZMQ_SNDMORE : 0);
}

/* Makes the REQ anew if it can be done without loss, as REQ#request does. */
static void
mend(VALUE self, gw_socket_t *socket)
{
    long left = socket->cut_left;
    if (RTEST(rb_funcall(self, rb_intern("_renew"), 0))) return;
    push_rest(socket, left);
    if (left > 0) socket->repair = GW_REQ_OWES_RELAX;
    else socket->repair = socket->correlate ? GW_REQ_OWES_END : GW_REQ_OWES_DELIMITER;
    socket->stale_reply_pipe = true;
}

/* ---- one message, one try ---- */

static void
mark_sent(VALUE message)
{
    if (!RB_TYPE_P(message, T_ARRAY)) {
        gw_part_sent(message);
        return;
    }
    for (long i = 0; i < RARRAY_LEN(message); i++) gw_part_sent(RARRAY_AREF(message, i));
}

/* DONTWAIT says EAGAIN in mid-message when the peer went away. PUSH and DEALER then drop what is left of the message if more was
 * to come, so it has to be pushed through; a REQ's state is in the middle, too; PAIR and the others have forgotten it already.
 * Either way the message starts again from its first part. Gives an errno: EAGAIN when it would block, with nothing of the
 * message sent. */
static int
try_parts(gw_socket_t *socket, VALUE message, gw_tracker_t *tracker)
{
    bool single = !RB_TYPE_P(message, T_ARRAY);
    long count = single ? 1 : RARRAY_LEN(message), i;
    int error;
    if (RB_UNLIKELY(socket->form == GW_FORM_DATAGRAM)) { /* one that is not bound drops messages, and gives no errno */
        int events = gw_socket_events(socket);
        if (events < 0) return errno;
        if (!(events & ZMQ_POLLOUT)) return EAGAIN;
    }
    do {
        bool begun = socket->repair == GW_REQ_OWES_DELIMITER;
        error = RB_UNLIKELY(socket->repair != GW_REQ_SOUND) ? repair_request(socket) : 0;
        for (i = 0; !error && i < count; i++) {
            VALUE part = single ? message : RARRAY_AREF(message, i);
            error = send_part(socket, part, i + 1 < count ? ZMQ_SNDMORE : 0, tracker);
        }
        if (RB_UNLIKELY(socket->repair == GW_REQ_OWES_RELAX)) {
            set_relaxed(socket, socket->relaxed);
            if (i > 1 || !error) socket->repair = GW_REQ_SOUND; /* the first part went, and with it a new request began */
        }
        if (RB_LIKELY(!error)) {
            if (!RB_TYPE_P(message, T_STRING)) mark_sent(message);
            return 0;
        }
        if (error != EAGAIN || i == 0 || (i == 1 && !begun)) return error;
        if (socket->type == ZMQ_PUSH || socket->type == ZMQ_DEALER) push_rest(socket, count - i);
    } while (socket->type != ZMQ_REQ);
    socket->repair = GW_REQ_CUT;
    socket->cut_left = count - i;
    return EAGAIN;
}

static inline bool
valid_part(VALUE part)
{
    return RB_LIKELY(RB_TYPE_P(part, T_STRING)) || (gw_is_frame(part) && gw_frame_sendable(part));
}

static bool
valid(const gw_socket_t *socket, VALUE message)
{
    if (RB_LIKELY(!RB_TYPE_P(message, T_ARRAY))) return valid_part(message) && gw_draft_fits(socket, 1);
    for (long i = 0; i < RARRAY_LEN(message); i++) {
        if (!valid_part(RARRAY_AREF(message, i))) return false;
    }
    return RARRAY_LEN(message) != 0 && gw_draft_fits(socket, RARRAY_LEN(message));
}

static void
check(const gw_call_t *call, VALUE message)
{
    const char *operation = call->operation;
    if (RB_UNLIKELY(!valid(call->socket, message))) {
        if (gw_is_frame(message)) gw_frame_check(message, operation);
        for (long i = 0; RB_TYPE_P(message, T_ARRAY) && i < RARRAY_LEN(message); i++) {
            if (gw_is_frame(RARRAY_AREF(message, i))) gw_frame_check(RARRAY_AREF(message, i), operation);
        }
        gw_raise_message(message, operation, call->self);
    }
    if (RB_UNLIKELY(gw_draft_too_large(call->socket, message))) gw_raise(EMSGSIZE, operation, call->self, Qnil);
}

/* What is sent of a Message are its frames. */
static inline VALUE
parts_of(VALUE message)
{
    if (RB_LIKELY(!RB_TYPE_P(message, T_OBJECT)) || !RTEST(rb_obj_is_kind_of(message, message_class))) return message;
    return rb_ivar_get(message, id_frames);
}

/* Others run while we wait: what was checked must not change under us. */
static VALUE
snapshot(VALUE message)
{
    if (RB_TYPE_P(message, T_STRING)) return rb_str_new_frozen(message);
    if (!RB_TYPE_P(message, T_ARRAY)) return message;
    VALUE copy = rb_ary_new_capa(RARRAY_LEN(message));
    for (long i = 0; i < RARRAY_LEN(message); i++) rb_ary_push(copy, snapshot(RARRAY_AREF(message, i)));
    return copy;
}

/* False: would block. Raises everything else. */
static bool
try_send(gw_call_t *call, VALUE message)
{
    gw_socket_t *socket = call->socket;
    int error;
    while ((error = try_parts(socket, message, call->tracker)) == EAGAIN && RB_UNLIKELY(socket->repair == GW_REQ_CUT)) {
        gw_settle(socket);
        mend(call->self, socket);
        gw_socket_open(call->self, call->operation); /* Ruby ran: it may have been closed, */
        check(call, message);                        /* and the message changed */
    }
    if (RB_LIKELY(!error)) {
        gw_settle_turn(socket);
        return true;
    }
    gw_settle(socket);
    if (error != EAGAIN) gw_raise(error, call->operation, call->self, Qnil);
    return false;
}

/* Before a wait: libzmq looks at its mailbox only now and then when it sends, so ZMQ_EVENTS has to empty it. */
static bool
drain_and_retry(gw_call_t *call, VALUE message)
{
    int events = gw_socket_events(call->socket), error = errno;
    gw_settle(call->socket);
    if (events < 0) gw_raise(error, call->operation, call->self, Qnil);
    return try_send(call, message);
}

static bool
send_waiting(gw_call_t *call, VALUE message)
{
    VALUE kept = Qnil;
    for (;;) {
        if (try_send(call, message) || drain_and_retry(call, message)) break;
        if (call->deadline == 0) return false;
        if (NIL_P(kept)) message = kept = snapshot(message);
        if (!gw_wait(call, ZMQ_POLLOUT)) return false;
        check(call, message); /* another thread may have sent or closed a frame of it */
    }
    RB_GC_GUARD(kept);
    return true;
}

/* What every send begins with. */
static void
begin(gw_call_t *call)
{
    gw_give_way(call);
    if (RB_UNLIKELY(call->socket->peers != NULL)) gw_peers_stop(call->socket);
    if (!call->socket->publisher) return;
    int64_t now = gw_milliseconds_now(); /* often enough that a peer cannot fill our memory with what it sends up */
    if (now - call->socket->drained < DRAIN_EVERY) return;
    call->socket->drained = now;
    gw_drain_subscriptions(call->socket);
}

/* ---- primitives ---- */

/* _send(message, timeout in ms, nil: the socket's own, Tracker or nil) => true, or false when time is up */
static VALUE
socket_send(VALUE self, VALUE message, VALUE timeout, VALUE tracker)
{
    gw_call_t call = gw_call(self, "send", 0);
    message = parts_of(message);
    call.tracker = NIL_P(tracker) ? NULL : gw_tracker_get(tracker);
    call.deadline = gw_deadline(gw_milliseconds(timeout, call.socket->send_timeout));
    begin(&call);
    check(&call, message); /* after others ran */
    bool sent = send_waiting(&call, message);
    RB_GC_GUARD(tracker);
    return RBOOL(sent);
}

/* _send_many(messages, first, timeout) => how many went, from `first` on; fewer than asked when the batch is full, none when
 * time is up. It raises only with none of this crossing gone, so the caller knows the number. */
static VALUE
socket_send_many(VALUE self, VALUE messages, VALUE first, VALUE timeout)
{
    gw_call_t call = gw_call(self, "send_many", 0);
    call.deadline = gw_deadline(gw_milliseconds(timeout, call.socket->send_timeout));
    long start = NUM2LONG(first), sent = 0;
    Check_Type(messages, T_ARRAY);
    for (long i = 0; start == 0 && i < RARRAY_LEN(messages); i++) check(&call, parts_of(RARRAY_AREF(messages, i)));
    begin(&call);
    for (; sent < BATCH && start + sent < RARRAY_LEN(messages); sent++) {
        VALUE message = parts_of(RARRAY_AREF(messages, start + sent));
        if (sent == 0) {
            check(&call, message);
            if (!send_waiting(&call, message)) break;
        }
        else if (!valid(call.socket, message) || gw_draft_too_large(call.socket, message) || try_parts(call.socket, message, NULL) != 0) {
            break;
        }
    }
    gw_settle_turn(call.socket);
    return LONG2NUM(sent);
}

/* ---- public methods that the extension takes over, for speed (bench/) ---- */

static VALUE
fast_send(VALUE self, VALUE message)
{
    gw_socket_t *socket = gw_quick(self);
    if (RB_LIKELY(socket && RB_TYPE_P(message, T_STRING))) {
        zmq_msg_t filled;
        int error = fill(socket, message, &filled, NULL);
        if (RB_LIKELY(!error)) error = hand_over(socket, &filled, 0);
        if (RB_LIKELY(!error)) {
            gw_settle_turn(socket);
            return self;
        }
        gw_settle(socket);
        if (error != EAGAIN) gw_raise(error, "send", self, Qnil);
    }
    gw_call_t call = gw_call(self, "send", 0);
    message = parts_of(message);
    begin(&call);
    check(&call, message); /* after others ran */
    if (RB_LIKELY(try_send(&call, message))) return self;
    call.deadline = gw_deadline(call.socket->send_timeout);
    if (!send_waiting(&call, message)) gw_raise(ETIMEDOUT, "send", self, Qnil);
    return self;
}

/* _send_own(owner, message) => true; false when it would wait; nil when it has to be looked at, with nothing done: this is not the
 * owner's thread, it is no String, or others have to be given way to first. What a door for old programs sends by (lib/godwit/compat):
 * the sockets there belong to a thread, and to compare that in Ruby would cost a third of a small message. */
static VALUE
socket_send_own(VALUE self, VALUE owner, VALUE message)
{
    gw_socket_t *socket = gw_quick(self);
    if (RB_UNLIKELY(!socket || owner != rb_thread_current() || !RB_TYPE_P(message, T_STRING))) return Qnil;
    zmq_msg_t filled;
    int error = fill(socket, message, &filled, NULL);
    if (RB_LIKELY(!error)) error = hand_over(socket, &filled, 0);
    if (RB_LIKELY(!error)) {
        gw_settle_turn(socket);
        return Qtrue;
    }
    gw_settle(socket);
    if (error != EAGAIN) gw_raise(error, "send", self, Qnil);
    return Qfalse;
}

static VALUE
takeover_send(int argc, VALUE *argv, VALUE self)
{
    return argc == 1 ? fast_send(self, argv[0]) : rb_call_super_kw(argc, argv, RB_PASS_CALLED_KEYWORDS);
}

void
gw_init_send(VALUE takeover, VALUE owned)
{
    VALUE class = rb_const_get(gw_mGodwit, rb_intern("Socket"));
    message_class = rb_define_class_under(gw_mGodwit, "Message", rb_cObject);
    rb_gc_register_mark_object(message_class);
    id_frames = rb_intern("@frames");
    rb_define_private_method(class, "_send", socket_send, 3);
    rb_define_private_method(class, "_send_many", socket_send_many, 3);
    rb_define_method(takeover, "send", takeover_send, -1);
    rb_define_method(owned, "_send_own", socket_send_own, 2);
    rb_define_method(takeover, "<<", fast_send, 1);
}
