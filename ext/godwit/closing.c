/* The close of a socket wakes its waiters. The last waiter to depart, or the proxy that uses the
 * socket, then closes the libzmq socket. Every function needs the GVL. */
#include "socket.h"

static int closing_record_linger(gw_socket_t *socket) {
    int linger = 0;
    size_t size = sizeof linger;
    if (gw_zmq_get(socket->zmq, ZMQ_LINGER, &linger, &size)) return 0;
    gw_context_record_linger(socket->context, linger);
    return linger;
}

void gw_socket_release(gw_socket_t *socket) {
    int linger = closing_record_linger(socket);
    gw_inproc_close(gw_inproc_end(socket, socket->zmq), gw_sent(socket) ? linger : 0);
    gw_monitor_end(socket);
    gw_unsent_closed(socket);
    gw_monitor_stop_counting(socket);
    gw_watches_detach(socket);
    gw_monitor_free(socket);
    gw_wait_queue_free_spares(&socket->queue);
    gw_forget_edges(socket);
    gw_draft_close(socket);
    gw_buffered_clear(&socket->buffered, socket->type);
    zmq_close(socket->zmq);
    socket->zmq = NULL;
    socket->state = GW_CLOSED;
    gw_context_remove(socket->context, &socket->link);
    atomic_fetch_sub(&socket->context->open_sockets, 1);
    gw_context_close(socket->context, NULL);
}

void gw_socket_release_idle(gw_socket_t *socket) {
    bool waited_on = socket->queue.first || socket->monitor_waiters.first;
    if (waited_on || socket->proxy || gw_socket_forked(socket)) return;
    if (socket->state == GW_CLOSING) gw_socket_release(socket);
}

void gw_socket_close(gw_socket_t *socket) {
    bool in_proxy = socket->state == GW_IN_PROXY;
    socket->state = GW_CLOSING;
    if (in_proxy) { /* proxy_release calls zmq_close after the loop's end */
        gw_context_record_linger(socket->context, socket->proxy_linger);
        gw_proxy_signal(socket->proxy, GW_PROXY_CLOSED);
        return;
    }
    closing_record_linger(socket); /* Context#close may read the linger before zmq_close runs */
    gw_monitor_end(socket);
    gw_wake_all(socket);
    gw_wake_monitor_waiters(socket);
    gw_socket_release_idle(socket);
}
