/* How a socket closes. */
#include "gem.h"

void gw_socket_drop_frames(gw_socket_t *socket) {
    gw_frames_free(&socket->rest);
    gw_buffered_clear(&socket->buffered, socket->type);
    zmq_msg_close(&socket->first);
    zmq_msg_init(&socket->first);
    socket->stored = false;
}

/* The collector may call it: zmq_close hands the socket to libzmq's own reaper. */
void gw_socket_release(gw_socket_t *socket) {
    int linger = 0;
    size_t size = sizeof linger;
    if (!socket->zmq || gw_socket_forked(socket)) return;
    gw_zmq_get(socket->zmq, ZMQ_LINGER, &linger, &size);
    gw_context_record_linger(socket->context, linger);
    gw_inproc_close(gw_inproc_end(socket), socket->sent ? linger : 0);
    gw_socket_drop_frames(socket);
    zmq_close(socket->zmq);
    socket->zmq = NULL;
    gw_context_remove(socket->context, &socket->link);
    atomic_fetch_sub(&socket->context->open_sockets, 1);
    gw_context_close(socket->context, socket->vm);
}
