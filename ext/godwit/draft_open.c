/* Finds the descriptor of a new libzmq socket and the gw_form_t of its messages. Needs the GVL. */
#include "socket.h"

/* A thread-safe type has no ZMQ_FD, so this function makes a zmq_poller, which has an eventfd.
 * libzmq writes the eventfd when a command arrives in an empty mailbox. Returns an errno. */
static int draft_open_poller(gw_socket_t *socket) {
    if (!gw_draft.available) return ENOTSUP;
    socket->poller = gw_draft.poller_new();
    if (!socket->poller) return ENOMEM;
    if (gw_draft.poller_add(socket->poller, socket->zmq, NULL, ZMQ_POLLIN | ZMQ_POLLOUT) == 0 &&
            gw_draft.poller_fd(socket->poller, &socket->fd) == 0) {
        return 0;
    }
    int error = errno;
    gw_draft_close(socket);
    return error;
}

int gw_draft_open(gw_socket_t *socket) {
    int thread_safe = 0;
    size_t size = sizeof thread_safe;
    socket->poller = NULL;
    if (gw_zmq_get(socket->zmq, ZMQ_THREAD_SAFE, &thread_safe, &size)) thread_safe = 0;
    switch (socket->type) {
    case ZMQ_ROUTER:
    case ZMQ_STREAM: socket->form = GW_FORM_NAMED; break;
    case GW_SERVER:
    case GW_PEER: socket->form = GW_FORM_ROUTED; break;
    case GW_RADIO: socket->form = GW_FORM_GROUPED; break;
    case GW_DGRAM: socket->form = GW_FORM_DATAGRAM; break;
    default: socket->form = thread_safe ? GW_FORM_SINGLE : GW_FORM_ANY;
    }
    if (thread_safe) return draft_open_poller(socket);
    size = sizeof socket->fd;
    return gw_zmq_get(socket->zmq, ZMQ_FD, &socket->fd, &size);
}

/* Runs before zmq_close, since zmq_poller_destroy still uses the socket. */
void gw_draft_close(gw_socket_t *socket) {
    if (socket->poller) gw_draft.poller_destroy(&socket->poller);
    socket->poller = NULL;
}
