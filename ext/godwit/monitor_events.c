/* A socket's monitor events, and the queues of its Monitors. libzmq's I/O threads block when the
 * monitor's PAIR is full, so the PAIR has no receive limit, and waits and calls of the socket drain
 * the PAIR (ADR 11). Every function needs the GVL. */
#include "wait.h"
#include <stdio.h>
#include <stdlib.h>

struct gw_monitor {
    void *pair;               /* owned */
    int fd;                   /* borrowed from libzmq: the pair's ZMQ_FD */
    gw_listener_t *listeners; /* borrowed: a listener unlinks itself before it is freed */
    uint64_t events;          /* events that libzmq reports */
    int64_t drained;          /* ms: when the pair was last drained */
    bool moving;              /* the monitor changes to another libzmq socket, with its listeners */
    bool ended;
};

static size_t monitor_events_size_of(const gw_event_t *event) {
    return sizeof *event + event->local + event->remote;
}

gw_event_t *gw_monitor_dequeue(gw_listener_t *listener) {
    gw_event_t *event = listener->first;
    if (!event) return NULL;
    listener->first = event->next;
    if (!listener->first) listener->last = NULL;
    listener->count--;
    listener->bytes -= monitor_events_size_of(event);
    return event;
}

/* Adds a copy of the event; a full queue drops its oldest event. */
static void monitor_events_put(
        gw_listener_t *listener, const gw_event_t *event, const char *local, const char *remote) {
    gw_event_t *copy = malloc(monitor_events_size_of(event));
    if (!copy) {
        listener->dropped++;
        return;
    }
    *copy = *event;
    copy->next = NULL;
    memcpy(copy->text, local, event->local);
    memcpy(copy->text + event->local, remote, event->remote);
    if (listener->last) listener->last->next = copy;
    else listener->first = copy;
    listener->last = copy;
    listener->count++;
    listener->bytes += monitor_events_size_of(copy);
    if (listener->limit == 0 || listener->count <= listener->limit) return;
    free(gw_monitor_dequeue(listener));
    listener->dropped++;
}

static void monitor_events_report(
        gw_socket_t *socket, const gw_event_t *event, const char *local, const char *remote) {
    struct gw_monitor *monitor = socket->monitor;
    if (monitor->moving && event->name == ZMQ_EVENT_MONITOR_STOPPED) return;
    if (socket->peers) gw_peers_record(socket->peers, event->name, (int)event->values[0]);
    for (gw_listener_t *listener = monitor->listeners; listener; listener = listener->next) {
        if (listener->wanted & event->name) monitor_events_put(listener, event, local, remote);
    }
}

static uint64_t monitor_events_number(zmq_msg_t *frame) {
    uint64_t value = 0;
    if (zmq_msg_size(frame) == sizeof value) memcpy(&value, zmq_msg_data(frame), sizeof value);
    return value;
}

/* Receives one event, whose frames libzmq delivers together. Returns an errno. */
static int monitor_events_receive_event(gw_socket_t *socket, void *pair) {
    gw_event_t event = {.next = NULL};
    zmq_msg_t frame, last;
    zmq_msg_init(&frame);
    zmq_msg_init(&last);
    int error = gw_zmq_receive(pair, &frame);
    if (error) goto done;
    if (gw_monitor_versioned()) {
        event.name = monitor_events_number(&frame);
        if (zmq_msg_more(&frame)) gw_zmq_receive(pair, &frame);
        uint64_t count = monitor_events_number(&frame);
        for (uint64_t i = 0; i < count && zmq_msg_more(&frame); i++) {
            gw_zmq_receive(pair, &frame);
            if (i < GW_EVENT_VALUES) event.values[event.count++] = monitor_events_number(&frame);
        }
    } else if (zmq_msg_size(&frame) >= 6) {
        const char *data = zmq_msg_data(&frame);
        uint16_t name;
        uint32_t value;
        memcpy(&name, data, sizeof name);
        memcpy(&value, data + sizeof name, sizeof value);
        event.name = name;
        event.values[0] = value;
        event.count = 1;
    }
    if (zmq_msg_more(&frame)) {
        gw_zmq_receive(pair, &frame);
        event.local = zmq_msg_size(&frame);
        if (zmq_msg_more(&frame)) {
            gw_zmq_receive(pair, &last);
            event.remote = zmq_msg_size(&last);
        }
    }
    monitor_events_report(socket, &event, zmq_msg_data(&frame), zmq_msg_data(&last));
done:
    zmq_msg_close(&frame);
    zmq_msg_close(&last);
    return error;
}

/* Returns whether the PAIR had an event. Sets `error`, to EAGAIN once the PAIR is empty. */
static bool monitor_events_drain_pair(gw_socket_t *socket, void *pair, int *error) {
    bool any = false;
    while ((*error = monitor_events_receive_event(socket, pair)) == 0) any = true;
    return any;
}

int gw_monitor_drain(gw_socket_t *socket, bool *any) {
    struct gw_monitor *monitor = socket->monitor;
    int error = EAGAIN;
    if (!monitor || monitor->ended) return error;
    bool found = monitor_events_drain_pair(socket, monitor->pair, &error);
    /* This drain consumed the edge that the other waiters wait for. */
    if (found || error != EAGAIN) gw_wake_monitor_waiters(socket);
    if (any && found) *any = true;
    return error;
}

void gw_monitor_drain_when_due(gw_socket_t *socket) {
    int64_t now = gw_milliseconds_now();
    if (!socket->monitor || now - socket->monitor->drained < GW_MONITOR_EVERY) return;
    socket->monitor->drained = now;
    gw_monitor_drain(socket, NULL);
}

/* Makes libzmq report these events to the endpoint `name`. Returns an errno. */
static int monitor_events_report_to(gw_socket_t *socket, const char *name, uint64_t events) {
    int rc = gw_monitor_versioned()
            ? gw_draft.socket_monitor_versioned(socket->zmq, name, events, 2, ZMQ_PAIR)
            : zmq_socket_monitor(socket->zmq, name, (int)events);
    return rc == 0 ? 0 : errno;
}

/* Makes libzmq report into a new PAIR; the former PAIR gets no more events. Returns an errno. */
static int monitor_events_start(gw_socket_t *socket, struct gw_monitor *monitor) {
    static atomic_ulong serial;
    char name[64];
    int no_limit = 0, fd;
    size_t size = sizeof fd;
    void *pair = gw_zmq_open(socket->context, ZMQ_PAIR, 0);
    if (!pair) return errno;
    snprintf(name, sizeof name, "inproc://godwit.monitor.%lu", atomic_fetch_add(&serial, 1));
    int error = gw_zmq_set(pair, ZMQ_RCVHWM, &no_limit, sizeof no_limit);
    if (!error) error = gw_zmq_get(pair, ZMQ_FD, &fd, &size);
    if (!error) error = monitor_events_report_to(socket, name, monitor->events);
    if (!error && zmq_connect(pair, name) != 0) {
        error = errno;
        zmq_socket_monitor(socket->zmq, NULL, 0);
    }
    if (error) {
        zmq_close(pair);
        return error;
    }
    monitor->pair = pair;
    monitor->fd = fd;
    return 0;
}

int gw_monitor_listen(gw_socket_t *socket, uint64_t events) {
    struct gw_monitor *monitor = socket->monitor, wider;
    events &= ~(uint64_t)ZMQ_EVENT_BIND_FAILED;
    if (!monitor) {
        monitor = calloc(1, sizeof *monitor);
        if (!monitor) return ENOMEM;
        monitor->events = events;
        int error = monitor_events_start(socket, monitor);
        if (error) free(monitor);
        else socket->monitor = monitor;
        return error;
    }
    if ((monitor->events & events) == events) return 0;
    wider = *monitor;
    wider.events |= events;
    int error = monitor_events_start(socket, &wider);
    if (error) return error;
    void *before = monitor->pair;
    /* The listeners get the events of the former PAIR before those of the new one. */
    monitor_events_drain_pair(socket, before, &error);
    *monitor = wider;
    gw_wake_monitor_waiters(socket); /* the waiters' descriptor is about to be closed */
    zmq_close(before);
    return 0;
}

/* Ends libzmq's monitor before the PAIR is closed: if the PAIR closed first, libzmq would wait for
 * it forever. */
static void monitor_events_finish(gw_socket_t *socket) {
    int error;
    zmq_socket_monitor(socket->zmq, NULL, 0);
    monitor_events_drain_pair(socket, socket->monitor->pair, &error);
}

static void monitor_events_discard(gw_socket_t *socket) {
    struct gw_monitor *monitor = socket->monitor;
    socket->monitor = NULL;
    if (!gw_socket_forked(socket)) zmq_close(monitor->pair);
    free(monitor);
}

/* Ends libzmq's monitor once no Monitor and no peer count uses it. Neither this call nor zmq_close
 * of the PAIR waits. */
static void monitor_events_end_unused(gw_socket_t *socket) {
    struct gw_monitor *monitor = socket->monitor;
    if (!monitor || monitor->ended || monitor->listeners || socket->peers ||
            gw_socket_forked(socket))
        return;
    gw_wake_monitor_waiters(socket);
    monitor_events_finish(socket);
    monitor_events_discard(socket);
}

/* Runs before the first bind or connect, so that the count of peers misses no connection. */
int gw_monitor_count_peers(gw_socket_t *socket, const char *endpoint) {
    if (gw_inproc(endpoint)) return 0; /* libzmq's monitor reports no peers over inproc */
    if (!socket->counting || socket->peers || socket->publisher) return 0;
    socket->counting = false; /* a socket starts the count of its peers only once */
    struct gw_peers *peers = gw_peers_new(zmq_ctx_get(socket->context->zmq, ZMQ_IO_THREADS) != 1);
    int error = peers ? gw_monitor_listen(socket, GW_PEER_EVENTS) : ENOMEM;
    if (error) gw_peers_free(peers);
    else socket->peers = peers;
    return error;
}

void gw_monitor_stop_counting(gw_socket_t *socket) {
    if (!socket->peers) return;
    gw_peers_free(socket->peers);
    socket->peers = NULL;
    gw_wake_monitor_waiters(socket);
    monitor_events_end_unused(socket);
}

void gw_monitor_add(gw_socket_t *socket, gw_listener_t *listener) {
    listener->source = socket;
    listener->next = socket->monitor->listeners;
    socket->monitor->listeners = listener;
}

static void monitor_events_detach(gw_listener_t *listener) {
    if (!listener->source) return;
    gw_listener_t **link = &listener->source->monitor->listeners;
    while (*link != listener) link = &(*link)->next;
    *link = listener->next;
    listener->source = NULL;
}

void gw_monitor_end(gw_socket_t *socket) {
    struct gw_monitor *monitor = socket->monitor;
    if (!monitor || monitor->ended) return;
    monitor_events_finish(socket);
    monitor->ended = true;
    while (monitor->listeners) monitor_events_detach(monitor->listeners);
}

void gw_monitor_free(gw_socket_t *socket) {
    if (!socket->monitor) return;
    while (socket->monitor->listeners) monitor_events_detach(socket->monitor->listeners);
    monitor_events_discard(socket);
}

/* Socket#_reopen calls this function before the new libzmq socket has an endpoint, so no event is
 * lost. If no descriptor is free for the monitor's new PAIR, the monitor ends. */
void gw_monitor_move(gw_socket_t *socket, void *before) {
    struct gw_monitor *monitor = socket->monitor;
    if (!monitor) return;
    void *after = socket->zmq, *pair = monitor->pair;
    socket->zmq = before;
    monitor->moving = true;
    monitor_events_finish(socket);
    monitor->moving = false;
    socket->zmq = after;
    gw_wake_monitor_waiters(socket);
    if (monitor_events_start(socket, monitor) == 0) {
        zmq_close(pair);
        return;
    }
    gw_event_t stopped = {.name = ZMQ_EVENT_MONITOR_STOPPED, .count = 1};
    monitor_events_report(socket, &stopped, "", "");
    gw_monitor_free(socket);
}

/* Godwit reports BIND_FAILED itself, since libzmq's report would overwrite errno. */
void gw_monitor_bind_failed(gw_socket_t *socket, const char *endpoint, int error) {
    if (!socket->monitor || error == ETERM || gw_inproc(endpoint))
        return;                     /* libzmq reports no failure in these cases */
    gw_monitor_drain(socket, NULL); /* the listeners get the earlier events first */
    gw_event_t event = {.name = ZMQ_EVENT_BIND_FAILED, .values = {error}, .count = 1};
    event.local = strlen(endpoint);
    monitor_events_report(socket, &event, endpoint, "");
    gw_wake_monitor_waiters(socket);
}

int gw_monitor_fd(gw_socket_t *socket) { return socket->monitor->fd; }

void gw_monitor_remove(gw_listener_t *listener) {
    gw_socket_t *socket = listener->source;
    monitor_events_detach(listener);
    for (gw_event_t *event; (event = gw_monitor_dequeue(listener));) free(event);
    if (socket) monitor_events_end_unused(socket);
}
