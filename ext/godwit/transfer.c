/* Every libzmq call that can consume an edge of ZMQ_FD (law 2): frames, events, options. Each wakes
 * the waiters that it may concern; see socket.h for the lock. A REP is made of libzmq's ROUTER and
 * keeps the envelope itself, since libzmq's REP may lose a reply (ADR 25). */
#include "socket.h"
#include <stdlib.h>

/* Wakes the waiters if the last call consumed an edge. Pollers watch the descriptor themselves. No
 * call consumes a thread-safe type's signals (ADR 14). */
static void transfer_settle_edge(gw_socket_t *socket) {
    if (!socket->poller && gw_edge_passed(socket)) gw_wait_queue_wake(&socket->queue);
}

int gw_settle(gw_socket_t *socket, int error) {
    if (socket->state == GW_IN_PROXY) return error;
    if (RB_UNLIKELY(error == ETERM)) { /* this call consumed the edge of all waiters */
        gw_wake_all(socket);
        gw_wake_monitor_waiters(socket);
    } else if (RB_UNLIKELY(socket->queue.first != NULL) && !socket->in_batch) {
        transfer_settle_edge(socket);
    }
    return error;
}

/* A whole message changes the state of a REQ or REP, so other waiters may go on without an edge. */
void gw_settle_message(gw_socket_t *socket) {
    if (socket->state == GW_IN_PROXY || socket->in_batch) return;
    if (socket->type == ZMQ_REQ || socket->type == ZMQ_REP) gw_wake_all(socket);
    else if (socket->queue.first) transfer_settle_edge(socket);
}

VALUE gw_batch(gw_socket_t *socket, VALUE (*body)(VALUE), VALUE argument) {
    int state;
    socket->in_batch = true;
    VALUE result = rb_protect(body, argument, &state);
    socket->in_batch = false;
    gw_settle_message(socket);
    if (state) rb_jump_tag(state);
    return result;
}

int gw_zmq_get(void *zmq, int option, void *value, size_t *size) {
    return zmq_getsockopt(zmq, option, value, size) == 0 ? 0 : errno;
}

int gw_zmq_set(void *zmq, int option, const void *value, size_t size) {
    return zmq_setsockopt(zmq, option, value, size) == 0 ? 0 : errno;
}

int gw_socket_get(gw_socket_t *socket, int option, void *value, size_t *size) {
    return gw_settle(socket, gw_zmq_get(socket->zmq, option, value, size));
}

/* An option may make the socket readable or writable without an edge. */
int gw_socket_set(gw_socket_t *socket, int option, const void *value, size_t size) {
    int error = gw_settle(socket, gw_zmq_set(socket->zmq, option, value, size));
    gw_wake_all(socket);
    return error;
}

/* ZMQ_EVENTS, or -1 with errno set. */
static int transfer_events(gw_socket_t *socket) {
    int events, error;
    size_t size = sizeof events;
    /* Before libzmq empties its mailbox: a later signal must stay. */
    if (RB_UNLIKELY(socket->poller != NULL)) gw_take_signal(socket);
    while ((error = gw_zmq_get(socket->zmq, ZMQ_EVENTS, &events, &size)) == EINTR) continue;
    if (!error) return events;
    errno = error;
    return -1;
}

static int transfer_add_frame(gw_frames_t *frames, zmq_msg_t *message) {
    if (frames->last == frames->capacity) {
        int capacity = frames->capacity ? 2 * frames->capacity : 4;
        zmq_msg_t *larger = realloc(frames->messages, capacity * sizeof *larger);
        if (!larger) return ENOMEM;
        frames->messages = larger;
        frames->capacity = capacity;
    }
    zmq_msg_t *added = &frames->messages[frames->last++];
    zmq_msg_init(added);
    zmq_msg_move(added, message);
    return 0;
}

static void transfer_clear_frames(gw_frames_t *frames) {
    while (frames->first < frames->last) zmq_msg_close(&frames->messages[frames->first++]);
    frames->first = frames->last = 0;
}

static void transfer_free_frames(gw_frames_t *frames) {
    transfer_clear_frames(frames);
    free(frames->messages);
    *frames = (gw_frames_t){0};
}

/* The next kept frame, else the next of libzmq's; gives an errno. */
static int transfer_next_frame(gw_socket_t *socket, zmq_msg_t *message) {
    gw_frames_t *kept = &socket->kept;
    if (kept->first == kept->last) return gw_zmq_receive(socket->zmq, message);
    zmq_msg_move(message, &kept->messages[kept->first]);
    zmq_msg_close(&kept->messages[kept->first++]);
    if (kept->first == kept->last) transfer_clear_frames(kept);
    return 0;
}

static bool transfer_reads_ahead(const gw_socket_t *socket) {
    int type = socket->type;
    return type == ZMQ_ROUTER || type == ZMQ_REP || type == ZMQ_SUB || type == ZMQ_XSUB;
}

/* Keeps the frames up to the end of the message; gives an errno. */
static int transfer_keep_to_end(gw_socket_t *socket) {
    bool more = true;
    int error = 0;
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (more && !(error = gw_zmq_receive(socket->zmq, &message))) {
        more = zmq_msg_more(&message);
        error = transfer_add_frame(&socket->kept, &message);
    }
    zmq_msg_close(&message);
    socket->indirect = true;
    return error == EAGAIN ? 0 : error;
}

/* Takes a message whole before a disconnect; gives an errno. These types hold its first frame once
 * they were asked for events, and libzmq aborts if the other frames end with the connection. */
int gw_keep_message(gw_socket_t *socket) {
    if (!transfer_reads_ahead(socket)) return 0;
    int error = 0;
    if (socket->turn == GW_REP_READING && socket->kept.last == 0)
        error = transfer_keep_to_end(socket);
    if (error) return error;
    int events = transfer_events(socket);
    if (events < 0) return errno;
    return events & ZMQ_POLLIN ? transfer_keep_to_end(socket) : 0;
}

/* Takes the envelope of the next request, and drops messages without a delimiter. */
static int transfer_take_envelope(gw_socket_t *socket) {
    gw_frames_t *envelope = &socket->envelope;
    zmq_msg_t message;
    int error;
    zmq_msg_init(&message);
    while (!(error = transfer_next_frame(socket, &message))) {
        bool more = zmq_msg_more(&message);
        bool delimiter = zmq_msg_size(&message) == 0 && envelope->last > 0;
        error = transfer_add_frame(envelope, &message);
        if (error) break;
        if (!more) transfer_clear_frames(envelope);
        else if (delimiter) break;
    }
    zmq_msg_close(&message);
    if (error) transfer_clear_frames(envelope);
    else socket->turn = GW_REP_READING;
    return error;
}

static int transfer_send_envelope(gw_socket_t *socket) {
    gw_frames_t *envelope = &socket->envelope;
    while (envelope->first < envelope->last) {
        int error = gw_zmq_send(socket->zmq, &envelope->messages[envelope->first], ZMQ_SNDMORE);
        if (error) return error;
        envelope->first++;
    }
    transfer_clear_frames(envelope);
    socket->turn = GW_REP_REPLYING;
    return 0;
}

int gw_receive_indirectly(gw_socket_t *socket, zmq_msg_t *message) {
    if (socket->type != ZMQ_REP) {
        int error = transfer_next_frame(socket, message);
        if (socket->kept.last == 0) socket->indirect = false;
        return error;
    }
    if (socket->turn == GW_REP_OWES || socket->turn == GW_REP_REPLYING) return EFSM;
    int error = socket->turn == GW_REP_READING ? 0 : transfer_take_envelope(socket);
    if (!error) error = transfer_next_frame(socket, message);
    if (!error && !zmq_msg_more(message)) socket->turn = GW_REP_OWES;
    return error;
}

int gw_send_indirectly(gw_socket_t *socket, zmq_msg_t *message, int flags) {
    if (socket->type != ZMQ_REP) return gw_zmq_send(socket->zmq, message, flags);
    if (socket->turn == GW_REP_IDLE || socket->turn == GW_REP_READING) return EFSM;
    int error = socket->turn == GW_REP_OWES ? transfer_send_envelope(socket) : 0;
    if (!error) error = gw_zmq_send(socket->zmq, message, flags);
    if (!error && !(flags & ZMQ_SNDMORE)) socket->turn = GW_REP_IDLE;
    return error;
}

/* The user's events for libzmq's; -1 with errno set. */
static int transfer_indirect_events(gw_socket_t *socket, int events) {
    bool kept = socket->kept.last > 0;
    if (socket->type != ZMQ_REP) return kept ? events | ZMQ_POLLIN : events;
    if (socket->turn == GW_REP_IDLE && (kept || events & ZMQ_POLLIN)) {
        int error = transfer_take_envelope(socket);
        if (error && error != EAGAIN) {
            errno = error;
            return -1;
        }
    }
    if (socket->turn == GW_REP_IDLE) return 0;
    return socket->turn == GW_REP_READING ? ZMQ_POLLIN : ZMQ_POLLOUT;
}

int gw_socket_events(gw_socket_t *socket) {
    int events = transfer_events(socket);
    if (RB_UNLIKELY(socket->indirect) && events >= 0)
        events = transfer_indirect_events(socket, events);
    errno = gw_settle(socket, events < 0 ? errno : 0);
    return events;
}

void gw_forget_frames(gw_socket_t *socket) {
    transfer_free_frames(&socket->kept);
    transfer_free_frames(&socket->envelope);
    socket->turn = GW_REP_IDLE;
    socket->indirect = socket->type == ZMQ_REP;
}
