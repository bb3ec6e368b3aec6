/* wait_connected: a PUB counts subscriptions, other types monitor events up to their first message.
 * PeerCounter (Ruby) has the same algorithm. Here no Ruby method may run: events are read
 * during other calls, where a method could raise or let another thread in. */
#include "frame.h"
#include <stdlib.h>

enum {
    OPENED = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_ACCEPTED,
    FAILED = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
            ZMQ_EVENT_HANDSHAKE_FAILED_AUTH,
    WATCHED = OPENED | FAILED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_DISCONNECTED,
};

typedef struct {
    int fd;
    bool gone;                /* its end came before its opening: see gw_peers.unordered */
    long successes, failures; /* handshakes of all, when it was opened; -1: unknown */
} connection_t;

struct gw_peers {
    connection_t *known;  /* owned, from malloc */
    long count, capacity; /* of `known` */
    long open;            /* of those, without the ones that are gone */
    long established;
    long successes, failures; /* handshakes so far */
    long failing;             /* failures whose disconnection is still to come */
    long doubtful;            /* disconnections counted as such that may have been of peers */
    /* Several I/O threads: the opening may be reported after the handshake or the end. */
    bool unordered;
};

static const gw_event_source_t *events_of; /* set by monitor_events.c */

void gw_peers_listen_to(const gw_event_source_t *source) { events_of = source; }

/* Wakes threads in wait_connected; their event mask is 0. */
static void peers_wake_counting(gw_socket_t *socket) {
    for (gw_waiter_t *waiter = socket->queue.first; waiter; waiter = waiter->next) {
        if (waiter->events == 0) gw_waiter_wake(waiter);
    }
}

/* A Godwit PUB is an XPUB (ADR 2): its peers send subscriptions. Counts them, and drops all other
 * messages. Returns the errno that ended it: EAGAIN when there is nothing more. */
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
    if (socket->subscriptions != before) peers_wake_counting(socket);
    return error;
}

void gw_peers_stop(gw_socket_t *socket) {
    struct gw_peers *peers = socket->peers;
    if (!peers) return;
    socket->peers = NULL;
    free(peers->known);
    free(peers);
    gw_wake_monitor_waiters(socket);
    events_of->leave(socket);
}

/* Before the first bind or connect, since a connection made earlier would be missed. Returns an
 * errno. */
static int peers_start(gw_socket_t *socket, const char *endpoint) {
    if (gw_inproc(endpoint)) return 0; /* libzmq's monitor reports no peers over inproc */
    if (!socket->counting || socket->peers || socket->publisher) return 0;
    socket->counting = false; /* once */
    struct gw_peers *peers = calloc(1, sizeof *peers);
    if (!peers) return ENOMEM;
    int error = events_of->listen(socket, WATCHED);
    if (error) {
        free(peers);
        return error;
    }
    peers->unordered = zmq_ctx_get(socket->context->zmq, ZMQ_IO_THREADS) != 1;
    socket->peers = peers;
    return 0;
}

static connection_t *peers_find(struct gw_peers *peers, int fd, bool gone) {
    for (long i = 0; i < peers->count; i++) {
        if (peers->known[i].fd == fd && peers->known[i].gone == gone) return &peers->known[i];
    }
    return NULL;
}

static void peers_add(struct gw_peers *peers, connection_t connection) {
    if (peers->count == peers->capacity) {
        long capacity = peers->capacity ? 2 * peers->capacity : 8;
        connection_t *known = realloc(peers->known, capacity * sizeof *known);
        if (!known) return;
        peers->known = known;
        peers->capacity = capacity;
    }
    peers->known[peers->count++] = connection;
}

static void peers_opened(struct gw_peers *peers, int fd) {
    connection_t *gone = peers_find(peers, fd, true);
    peers->open++;
    if (gone) *gone = peers->known[--peers->count];
    else if (peers->unordered)
        peers_add(peers, (connection_t){.fd = fd, .successes = -1, .failures = -1});
    else
        peers_add(peers,
                (connection_t){
                        .fd = fd, .successes = peers->successes, .failures = peers->failures});
}

/* libzmq does not say whose handshake succeeded or failed, only whose connection ended: a
 * connection that may have failed counts as a failed one while one is still to end. One case stays
 * unknown: a connection whose handshake ends without an event counts as a disconnected peer. */
static void peers_closed(struct gw_peers *peers, int fd) {
    connection_t *found = peers_find(peers, fd, false),
                 connection = {.fd = fd, .gone = true, .successes = -1, .failures = -1};
    peers->open--;
    if (found) {
        connection = *found;
        *found = peers->known[--peers->count];
    } else {
        peers_add(peers, connection);
    }
    bool peer = connection.successes != peers->successes,
         failed = connection.failures != peers->failures;
    if (failed && peers->failing > 0) {
        peers->failing--;
        if (peer) peers->doubtful++;
    } else if (peer) {
        peers->established--;
    } else if (failed && peers->doubtful > 0) {
        peers->doubtful--;
        peers->established--;
    }
    if (peers->established < 0) peers->established = 0;
    if (!peers->unordered && peers->established > peers->open) peers->established = peers->open;
}

/* One event of the monitor. */
void gw_peers_record(gw_socket_t *socket, uint64_t event, int value) {
    struct gw_peers *peers = socket->peers;
    if (event & OPENED) peers_opened(peers, value);
    else if (event & FAILED) peers->failing++, peers->failures++;
    else if (event == ZMQ_EVENT_DISCONNECTED) peers_closed(peers, value);
    else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) peers->established++, peers->successes++;
}

/* Returns 0 or an errno. */
static int peers_drain_monitor(gw_socket_t *socket) {
    bool news = false;
    int error = events_of->drain(socket, &news);
    if (news) {
        /* A bound SUB subscribes at its new peer when libzmq next runs on this thread: now. */
        gw_socket_events(socket);
    }
    return error;
}

/* _count_peers: from the first endpoint on */
static VALUE peers_count(VALUE self) {
    gw_socket_open(self, "wait_connected")->counting = true;
    return Qnil;
}

/* _wait_peers(count, timeout in ms) => how many peers there are, fewer than `count` when time is
 * up; nil when they are not counted */
static VALUE peers_wait(VALUE self, VALUE count, VALUE timeout) {
    gw_call_t call = gw_call(self, "wait_connected", 0);
    gw_call_set_deadline(&call, gw_milliseconds(timeout, GW_FOREVER));
    gw_socket_t *socket = call.socket;
    struct gw_peers *peers;
    long wanted = NUM2LONG(count), now;
    do {
        peers = socket->peers;
        if (!socket->publisher && !peers) return Qnil;
        int error =
                socket->publisher ? gw_drain_subscriptions(socket) : peers_drain_monitor(socket);
        if (error != EAGAIN && error != EINTR) gw_raise(error, call.operation, self, Qnil);
        if (socket->publisher) now = socket->subscriptions;
        /* Raw TCP has no handshake. */
        else now = socket->type == ZMQ_STREAM ? peers->open : peers->established;
    } while (now < wanted &&
            gw_wait_on(&call, 0, socket->publisher ? socket->fd : events_of->fd(socket)));
    return LONG2NUM(now);
}

static const gw_socket_part_t peers_part = {
        .before_endpoint = peers_start,
        .reopening = gw_peers_stop,
        .releasing = gw_peers_stop,
};

void gw_init_peers(void) {
    gw_socket_add_part(&peers_part);
    VALUE class = rb_const_get(gw_mGodwit, rb_intern("Socket"));
    rb_define_private_method(class, "_count_peers", peers_count, 0);
    rb_define_private_method(class, "_wait_peers", peers_wait, 2);
}
