/* wait_connected: a PUB counts subscriptions. Other types count peers until the program first sends
 * or receives. Every function needs the GVL. */
#include "frame.h"

/* A Godwit PUB is an XPUB (ADR 2): its peers send subscriptions. This function counts them, and
 * drops all messages. It returns EAGAIN once there is no message, or another errno. */
int gw_drain_subscriptions(gw_socket_t *socket) {
    zmq_msg_t message;
    long before = socket->subscriptions;
    int error;
    zmq_msg_init(&message);
    while ((error = gw_receive_frame(socket, &message)) == 0) {
        if (zmq_msg_size(&message) == 0) continue;
        char first = *(const char *)zmq_msg_data(&message);
        if (first == 1) socket->subscriptions++;
        else if (first == 0 && socket->subscriptions > 0) socket->subscriptions--;
    }
    zmq_msg_close(&message);
    if (socket->subscriptions == before) return error;
    for (gw_waiter_t *waiter = socket->queue.first; waiter; waiter = waiter->next) {
        if (waiter->events == 0) gw_waiter_wake(waiter); /* 0: the waiter is in wait_connected */
    }
    return error;
}

static int connected_drain_monitor(gw_socket_t *socket) {
    bool any = false;
    int error = gw_monitor_drain(socket, &any);
    /* In this call libzmq sends the subscriptions of a bound SUB to its new peer. */
    if (any) gw_socket_events(socket);
    return error;
}

/* _count_peers: the socket counts its peers from its next bind or connect on */
static VALUE connected_count_peers(VALUE self) {
    gw_socket_open(self, "wait_connected")->counting = true;
    return Qnil;
}

/* _wait_peers(count, timeout in ms) => the number of peers, less than `count` when time is up; nil
 * when the socket does not count its peers */
static VALUE connected_wait_peers(VALUE self, VALUE count, VALUE timeout) {
    gw_call_t call = gw_call(self, "wait_connected", 0);
    gw_call_set_deadline(&call, gw_milliseconds(timeout, GW_FOREVER));
    gw_socket_t *socket = call.socket;
    bool publisher = socket->publisher,
         shaken_hands = socket->type != ZMQ_STREAM; /* raw TCP has no handshake */
    long wanted = NUM2LONG(count), now;
    do {
        if (!publisher && !socket->peers) return Qnil;
        int error = publisher ? gw_drain_subscriptions(socket) : connected_drain_monitor(socket);
        if (error != EAGAIN && error != EINTR) gw_raise(error, call.operation, self, Qnil);
        now = publisher ? socket->subscriptions : gw_peers_count(socket->peers, shaken_hands);
    } while (now < wanted && gw_wait_on(&call, 0, publisher ? socket->fd : gw_monitor_fd(socket)));
    return LONG2NUM(now);
}

void gw_init_connected(void) {
    rb_define_private_method(gw_cSocket, "_count_peers", connected_count_peers, 0);
    rb_define_private_method(gw_cSocket, "_wait_peers", connected_wait_peers, 2);
}
