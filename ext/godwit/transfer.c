/* Every libzmq call that can consume an edge of ZMQ_FD (law 2): frames, events, options. Each call
 * wakes the waiters that it may concern; see socket.h for the lock. */
#include "socket.h"

/* Wakes the waiters if an edge of ZMQ_FD has passed, which the last call may have consumed. Pollers
 * watch ZMQ_FD themselves. No libzmq call consumes the signals of a thread-safe type (ADR 14). */
static void transfer_settle_edge(gw_socket_t *socket) {
    if (!socket->poller && gw_edge_passed(socket)) gw_wait_queue_wake(&socket->queue);
}

int gw_settle(gw_socket_t *socket, int error) {
    if (socket->state == GW_IN_PROXY) return error;
    if (RB_UNLIKELY(error == ETERM)) { /* the failed libzmq call consumed the waiters' edge */
        gw_wake_all(socket);
        gw_wake_monitor_waiters(socket);
    } else if (RB_UNLIKELY(socket->queue.first != NULL) && !socket->in_batch) {
        transfer_settle_edge(socket);
    }
    return error;
}

/* A whole message changes the state of a REQ or REP, which no edge reports: wake its waiters. */
void gw_settle_message(gw_socket_t *socket) {
    if (socket->state == GW_IN_PROXY || socket->in_batch) return;
    if (socket->type == ZMQ_REQ || socket->type == ZMQ_REP) gw_wake_all(socket);
    else if (socket->queue.first) transfer_settle_edge(socket);
}

void gw_send_rest(gw_socket_t *socket, long count) {
    for (; count > 0; count--) {
        zmq_msg_t empty;
        zmq_msg_init(&empty);
        if (gw_send_frame(socket, &empty, count > 1 ? ZMQ_SNDMORE : 0)) zmq_msg_close(&empty);
    }
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

int gw_socket_get(gw_socket_t *socket, int option, void *value, size_t *size) {
    return gw_settle(socket, gw_zmq_get(socket->zmq, option, value, size));
}

/* An option may make the socket readable or writable without an edge. */
int gw_socket_set(gw_socket_t *socket, int option, const void *value, size_t size) {
    int error = gw_settle(socket, gw_zmq_set(socket->zmq, option, value, size));
    gw_wake_all(socket);
    return error;
}

int gw_socket_events(gw_socket_t *socket) {
    /* The eventfd is cleared before libzmq empties its mailbox: a later signal must not be lost. */
    if (RB_UNLIKELY(socket->poller != NULL)) gw_clear_signal(socket);
    int events = gw_zmq_events(socket->zmq);
    if (RB_UNLIKELY(socket->buffered.indirect) && events >= 0)
        events = gw_buffered_events(&socket->buffered, socket->zmq, socket->type, events);
    errno = gw_settle(socket, events < 0 ? errno : 0);
    return events;
}
