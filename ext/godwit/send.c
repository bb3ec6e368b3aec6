/* Sending: always ZMQ_DONTWAIT with the GVL held, whole messages only (laws 1 and 3). */
#include "godwit.h"
#include <errno.h>
#include <string.h>

enum {
    BATCH = 1024,     /* messages of send_many per crossing */
    DRAIN_EVERY = 10, /* ms between two looks of a PUB at its subscriptions */
};

static int
send_frame(gw_socket_t *socket, const char *data, size_t size, int flags)
{
    zmq_msg_t message;
    int error = gw_message_init(&message, data, size);
    if (error) return error;
    while (zmq_msg_send(&message, socket->zmq, flags | ZMQ_DONTWAIT) < 0) {
        error = errno;
        if (error == EINTR) continue;
        zmq_msg_close(&message);
        return error;
    }
    return 0;
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
        error = send_frame(socket, "", 0, ZMQ_SNDMORE);
        if (error) return error;
        socket->repair = GW_REQ_SOUND;
        return 0;
      case GW_REQ_OWES_END: /* its request id is unknown to us: end that request with an empty frame, which no REP takes */
        error = send_frame(socket, "", 0, 0);
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
    for (long i = left; i > 0; i--) send_frame(socket, "", 0, i > 1 ? ZMQ_SNDMORE : 0);
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

/* DONTWAIT says EAGAIN in mid-message when the peer went away. PUSH and DEALER then drop what is left of the message if more was
 * to come, so it has to be pushed through; a REQ's state is in the middle, too; PAIR and the others have forgotten it already.
 * Either way the message starts again from its first part. Gives an errno: EAGAIN when it would block, with nothing of the
 * message sent. */
static int
try_parts(gw_socket_t *socket, VALUE message)
{
    bool single = RB_TYPE_P(message, T_STRING);
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
            error = send_frame(socket, RSTRING_PTR(part), RSTRING_LEN(part), i + 1 < count ? ZMQ_SNDMORE : 0);
        }
        if (RB_UNLIKELY(socket->repair == GW_REQ_OWES_RELAX)) {
            set_relaxed(socket, socket->relaxed);
            if (i > 1 || !error) socket->repair = GW_REQ_SOUND; /* the first part went, and with it a new request began */
        }
        if (RB_LIKELY(!error) || error != EAGAIN || i == 0 || (i == 1 && !begun)) return error;
        if (socket->type == ZMQ_PUSH || socket->type == ZMQ_DEALER) push_rest(socket, count - i);
    } while (socket->type != ZMQ_REQ);
    socket->repair = GW_REQ_CUT;
    socket->cut_left = count - i;
    return EAGAIN;
}

static bool
valid(const gw_socket_t *socket, VALUE message)
{
    if (RB_LIKELY(RB_TYPE_P(message, T_STRING))) return gw_draft_fits(socket, 1);
    if (!RB_TYPE_P(message, T_ARRAY) || RARRAY_LEN(message) == 0) return false;
    for (long i = 0; i < RARRAY_LEN(message); i++) {
        if (!RB_TYPE_P(RARRAY_AREF(message, i), T_STRING)) return false;
    }
    return gw_draft_fits(socket, RARRAY_LEN(message));
}

static void
check(const gw_call_t *call, VALUE message)
{
    if (RB_UNLIKELY(!valid(call->socket, message))) gw_raise_message(message, call->operation, call->self);
    if (RB_UNLIKELY(gw_draft_too_large(call->socket, message))) gw_raise(EMSGSIZE, call->operation, call->self, Qnil);
}

/* Others run while we wait: what was checked must not change under us. */
static VALUE
snapshot(VALUE message)
{
    if (RB_TYPE_P(message, T_STRING)) return rb_str_new_frozen(message);
    VALUE copy = rb_ary_new_capa(RARRAY_LEN(message));
    for (long i = 0; i < RARRAY_LEN(message); i++) rb_ary_push(copy, rb_str_new_frozen(RARRAY_AREF(message, i)));
    return copy;
}

/* False: would block. Raises everything else. */
static bool
try_send(gw_call_t *call, VALUE message)
{
    gw_socket_t *socket = call->socket;
    int error;
    while ((error = try_parts(socket, message)) == EAGAIN && RB_UNLIKELY(socket->repair == GW_REQ_CUT)) {
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

/* _send(message, timeout in ms, nil: the socket's own) => true, or false when time is up */
static VALUE
socket_send(VALUE self, VALUE message, VALUE timeout)
{
    gw_call_t call = gw_call(self, "send", 0);
    call.deadline = gw_deadline(gw_milliseconds(timeout, call.socket->send_timeout));
    begin(&call);
    check(&call, message); /* after others ran */
    return RBOOL(send_waiting(&call, message));
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
    for (long i = 0; start == 0 && i < RARRAY_LEN(messages); i++) check(&call, RARRAY_AREF(messages, i));
    begin(&call);
    for (; sent < BATCH && start + sent < RARRAY_LEN(messages); sent++) {
        VALUE message = RARRAY_AREF(messages, start + sent);
        if (sent == 0) {
            check(&call, message);
            if (!send_waiting(&call, message)) break;
        }
        else if (!valid(call.socket, message) || gw_draft_too_large(call.socket, message) || try_parts(call.socket, message) != 0) {
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
        int error = send_frame(socket, RSTRING_PTR(message), RSTRING_LEN(message), 0);
        if (RB_LIKELY(!error)) {
            gw_settle_turn(socket);
            return self;
        }
        gw_settle(socket);
        if (error != EAGAIN) gw_raise(error, "send", self, Qnil);
    }
    gw_call_t call = gw_call(self, "send", 0);
    begin(&call);
    check(&call, message); /* after others ran */
    if (RB_LIKELY(try_send(&call, message))) return self;
    call.deadline = gw_deadline(call.socket->send_timeout);
    if (!send_waiting(&call, message)) gw_raise(ETIMEDOUT, "send", self, Qnil);
    return self;
}

static VALUE
takeover_send(int argc, VALUE *argv, VALUE self)
{
    return argc == 1 ? fast_send(self, argv[0]) : rb_call_super_kw(argc, argv, RB_PASS_CALLED_KEYWORDS);
}

void
gw_init_send(VALUE takeover)
{
    VALUE class = rb_const_get(gw_mGodwit, rb_intern("Socket"));
    rb_define_private_method(class, "_send", socket_send, 2);
    rb_define_private_method(class, "_send_many", socket_send_many, 3);
    rb_define_method(takeover, "send", takeover_send, -1);
    rb_define_method(takeover, "<<", fast_send, 1);
}
