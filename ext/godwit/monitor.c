/* Godwit::Monitor: what libzmq tells of a socket's connections.
 *
 * libzmq has one monitor per socket, a PAIR that its I/O threads write to, and it waits when that is full: so the PAIR has no
 * receive limit, set before it connects (law 12). It is emptied into a queue for each Monitor, which has a limit: by those who
 * read, by every wait, bind and connect on the socket, and by every 128th message (gw_monitor_look). Peers are counted from the
 * same events. Of BIND_FAILED libzmq is not asked: telling it spoils the errno of the bind (4.3.4), so we tell it ourselves. */
#include "godwit.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    VALUES = 4,      /* of an event; libzmq's version 2 uses two at most */
    LOOK_EVERY = 10, /* ms */
};

typedef struct event {
    struct event *next;
    uint64_t name;
    uint64_t values[VALUES];
    size_t count;          /* of `values` */
    size_t local, remote;  /* bytes of each in `text`; libzmq's version 1 has one endpoint, which is `local` */
    char text[];
} event_t;

typedef struct reader {
    struct reader *prev, *next;
    gw_socket_t *source;   /* borrowed; NULL once the socket's monitor has ended */
    VALUE socket;
    event_t *first, *last; /* owned, from malloc */
    long count, limit, dropped;
    size_t bytes;
    uint64_t wanted;
    bool open, closed;
} reader_t;

struct gw_monitor {
    void *pair;            /* owned */
    int fd;                /* borrowed from libzmq: the pair's ZMQ_FD */
    reader_t *readers;     /* borrowed: each unlinks itself before it is freed */
    uint64_t events;       /* what libzmq is asked for */
    int64_t looked;        /* when a look was last due, ms */
    bool moving;           /* to another libzmq socket, which is no end for the readers */
    bool ended;
};

static bool
versioned(void)
{
    return gw_draft.socket_monitor_versioned != NULL;
}

/* ---- one reader's queue ---- */

static size_t
size_of(const event_t *event)
{
    return sizeof *event + event->local + event->remote;
}

static event_t *
take(reader_t *reader)
{
    event_t *event = reader->first;
    if (!event) return NULL;
    reader->first = event->next;
    if (!reader->first) reader->last = NULL;
    reader->count--;
    reader->bytes -= size_of(event);
    return event;
}

static void
empty(reader_t *reader)
{
    event_t *event;
    while ((event = take(reader))) free(event);
}

/* The oldest makes room, as what is going on now matters more. */
static void
put(reader_t *reader, const event_t *event, const char *local, const char *remote)
{
    event_t *copy = malloc(size_of(event));
    if (!copy) {
        reader->dropped++;
        return;
    }
    *copy = *event;
    copy->next = NULL;
    memcpy(copy->text, local, event->local);
    memcpy(copy->text + event->local, remote, event->remote);
    if (reader->last) reader->last->next = copy;
    else reader->first = copy;
    reader->last = copy;
    reader->count++;
    reader->bytes += size_of(copy);
    if (reader->limit == 0 || reader->count <= reader->limit) return;
    free(take(reader));
    reader->dropped++;
}

static void
tell(gw_socket_t *socket, const event_t *event, const char *local, const char *remote)
{
    struct gw_monitor *monitor = socket->monitor;
    if (monitor->moving && event->name == ZMQ_EVENT_MONITOR_STOPPED) return;
    if (socket->peers) gw_peers_note(socket, event->name, (int)event->values[0]);
    for (reader_t *reader = monitor->readers; reader; reader = reader->next) {
        if (reader->wanted & event->name) put(reader, event, local, remote);
    }
}

/* ---- libzmq's side ---- */

static int
receive(zmq_msg_t *part, void *pair)
{
    while (zmq_msg_recv(part, pair, ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

static uint64_t
number(zmq_msg_t *part)
{
    uint64_t value = 0;
    if (zmq_msg_size(part) == sizeof value) memcpy(&value, zmq_msg_data(part), sizeof value);
    return value;
}

/* One event: it is there whole once its first part is. Gives an errno. */
static int
receive_event(gw_socket_t *socket, void *pair)
{
    event_t event = {.next = NULL};
    zmq_msg_t part, last;
    zmq_msg_init(&part);
    zmq_msg_init(&last);
    int error = receive(&part, pair);
    if (error) goto done;
    if (versioned()) {
        event.name = number(&part);
        if (zmq_msg_more(&part)) receive(&part, pair);
        uint64_t count = number(&part);
        for (uint64_t i = 0; i < count && zmq_msg_more(&part); i++) {
            receive(&part, pair);
            if (i < VALUES) event.values[event.count++] = number(&part);
        }
    }
    else if (zmq_msg_size(&part) >= 6) {
        const char *data = zmq_msg_data(&part);
        uint16_t name;
        uint32_t value;
        memcpy(&name, data, sizeof name);
        memcpy(&value, data + sizeof name, sizeof value);
        event.name = name;
        event.values[0] = value;
        event.count = 1;
    }
    if (zmq_msg_more(&part)) {
        receive(&part, pair);
        event.local = zmq_msg_size(&part);
        if (zmq_msg_more(&part)) {
            receive(&last, pair);
            event.remote = zmq_msg_size(&last);
        }
    }
    tell(socket, &event, zmq_msg_data(&part), zmq_msg_data(&last));
done:
    zmq_msg_close(&part);
    zmq_msg_close(&last);
    return error;
}

static int
drain_pair(gw_socket_t *socket, void *pair, bool *news)
{
    int error;
    while ((error = receive_event(socket, pair)) == 0) *news = true;
    return error;
}

int
gw_monitor_drain(gw_socket_t *socket, bool *news)
{
    struct gw_monitor *monitor = socket->monitor;
    if (!monitor || monitor->ended) return EAGAIN;
    int error = drain_pair(socket, monitor->pair, news);
    /* Whoever drains took the others' edge. */
    if (*news || error != EAGAIN) gw_wake_readers(socket);
    return error;
}

void
gw_monitor_look(gw_socket_t *socket)
{
    bool news = false;
    int64_t now = gw_milliseconds_now();
    if (now - socket->monitor->looked < LOOK_EVERY) return;
    socket->monitor->looked = now;
    gw_monitor_drain(socket, &news);
}

/* Has libzmq tell of the socket into a new PAIR; one that it told into before gets nothing more. Gives an errno. */
static int
start(gw_socket_t *socket, struct gw_monitor *monitor)
{
    static atomic_ulong serial;
    char name[64];
    int no_limit = 0, error = gw_descriptors(2), fd;
    size_t size = sizeof fd;
    if (error) return error;
    void *pair = zmq_socket(socket->context->zmq, ZMQ_PAIR);
    if (!pair) return errno;
    snprintf(name, sizeof name, "inproc://godwit.monitor.%lu", atomic_fetch_add(&serial, 1));
    if (zmq_setsockopt(pair, ZMQ_RCVHWM, &no_limit, sizeof no_limit) != 0
        || zmq_setsockopt(pair, ZMQ_LINGER, &no_limit, sizeof no_limit) != 0
        || zmq_getsockopt(pair, ZMQ_FD, &fd, &size) != 0
        || (versioned() ? gw_draft.socket_monitor_versioned(socket->zmq, name, monitor->events, 2, ZMQ_PAIR)
                        : zmq_socket_monitor(socket->zmq, name, (int)monitor->events)) != 0) {
        error = errno;
        zmq_close(pair);
        return error;
    }
    if (zmq_connect(pair, name) != 0) {
        error = errno;
        zmq_socket_monitor(socket->zmq, NULL, 0);
        zmq_close(pair);
        return error;
    }
    monitor->pair = pair;
    monitor->fd = fd;
    return 0;
}

int
gw_monitor_listen(gw_socket_t *socket, uint64_t events)
{
    struct gw_monitor *monitor = socket->monitor, wider;
    events &= ~(uint64_t)ZMQ_EVENT_BIND_FAILED;
    if (!monitor) {
        monitor = calloc(1, sizeof *monitor);
        if (!monitor) return ENOMEM;
        monitor->events = events;
        int error = start(socket, monitor);
        if (error) free(monitor);
        else socket->monitor = monitor;
        return error;
    }
    if ((monitor->events & events) == events) return 0;
    wider = *monitor;
    wider.events |= events;
    int error = start(socket, &wider);
    if (error) return error;
    bool news = false;
    void *before = monitor->pair;
    drain_pair(socket, before, &news); /* what came first is told first */
    *monitor = wider;
    gw_wake_readers(socket); /* they wait on the descriptor that goes */
    zmq_close(before);
    return 0;
}

/* libzmq first: it waits for ever for a PAIR that nobody holds. */
static void
finish(gw_socket_t *socket)
{
    bool news = false;
    zmq_socket_monitor(socket->zmq, NULL, 0);
    drain_pair(socket, socket->monitor->pair, &news);
}

static void
discard(gw_socket_t *socket)
{
    struct gw_monitor *monitor = socket->monitor;
    socket->monitor = NULL;
    if (!gw_socket_forked(socket)) zmq_close(monitor->pair);
    free(monitor);
}

void
gw_monitor_leave(gw_socket_t *socket)
{
    struct gw_monitor *monitor = socket->monitor;
    if (!monitor || monitor->ended || monitor->readers || socket->peers || gw_socket_forked(socket)) return;
    gw_wake_readers(socket);
    finish(socket);
    discard(socket);
}

static void
detach(reader_t *reader)
{
    if (!reader->source) return;
    if (reader->prev) reader->prev->next = reader->next;
    else reader->source->monitor->readers = reader->next;
    if (reader->next) reader->next->prev = reader->prev;
    reader->prev = reader->next = NULL;
    reader->source = NULL;
}

void
gw_monitor_end(gw_socket_t *socket)
{
    struct gw_monitor *monitor = socket->monitor;
    if (!monitor || monitor->ended) return;
    finish(socket);
    monitor->ended = true;
    while (monitor->readers) detach(monitor->readers);
}

void
gw_monitor_free(gw_socket_t *socket)
{
    if (!socket->monitor) return;
    while (socket->monitor->readers) detach(socket->monitor->readers);
    discard(socket);
}

/* The new libzmq socket has no endpoint yet, so nothing of it is missed. Without a descriptor left for it the monitor ends. */
void
gw_monitor_move(gw_socket_t *socket, void *before)
{
    struct gw_monitor *monitor = socket->monitor;
    if (!monitor) return;
    void *after = socket->zmq, *pair = monitor->pair;
    socket->zmq = before;
    monitor->moving = true;
    finish(socket);
    monitor->moving = false;
    socket->zmq = after;
    gw_wake_readers(socket);
    if (start(socket, monitor) == 0) {
        zmq_close(pair);
        return;
    }
    tell(socket, &(event_t){.name = ZMQ_EVENT_MONITOR_STOPPED, .count = 1}, "", "");
    gw_monitor_free(socket);
}

void
gw_monitor_bind_failed(gw_socket_t *socket, const char *endpoint, int error)
{
    bool news = false;
    if (!socket->monitor || error == ETERM || gw_inproc(endpoint)) return; /* as libzmq */
    gw_monitor_drain(socket, &news); /* what came first is told first */
    event_t event = {.name = ZMQ_EVENT_BIND_FAILED, .values = {error}, .count = 1, .local = strlen(endpoint)};
    tell(socket, &event, endpoint, "");
    gw_wake_readers(socket);
}

int
gw_monitor_fd(gw_socket_t *socket)
{
    return socket->monitor->fd;
}

/* ---- Godwit::Monitor ---- */

static void
reader_mark(void *pointer)
{
    rb_gc_mark_movable(((reader_t *)pointer)->socket);
}

static void
reader_compact(void *pointer)
{
    reader_t *reader = pointer;
    reader->socket = rb_gc_location(reader->socket);
}

/* The last one has libzmq stop telling: neither that nor the PAIR's close waits for anything. */
static void
leave(reader_t *reader)
{
    gw_socket_t *socket = reader->source;
    detach(reader);
    empty(reader);
    if (socket) gw_monitor_leave(socket);
}

static void
reader_free(void *pointer)
{
    leave(pointer);
    xfree(pointer);
}

static size_t
reader_size(const void *pointer)
{
    const reader_t *reader = pointer;
    return sizeof *reader + reader->bytes;
}

static const rb_data_type_t reader_type = {
    .wrap_struct_name = "Godwit::Monitor",
    .function = {.dmark = reader_mark, .dfree = reader_free, .dsize = reader_size, .dcompact = reader_compact},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE
reader_alloc(VALUE class)
{
    reader_t *reader;
    VALUE self = TypedData_Make_Struct(class, reader_t, &reader_type, reader);
    reader->socket = Qnil;
    return self;
}

static reader_t *
get(VALUE self)
{
    return rb_check_typeddata(self, &reader_type);
}

/* _open(socket, events as libzmq's bits, most events that it keeps, 0: no limit) */
static VALUE
monitor_open(VALUE self, VALUE socket, VALUE events, VALUE limit)
{
    reader_t *reader = get(self);
    if (reader->open) rb_raise(rb_eRuntimeError, "this monitor is open already");
    uint64_t wanted = NUM2ULL(events);
    long most = NUM2LONG(limit);
    gw_socket_t *source = gw_socket_open(socket, "monitor");
    int error = gw_monitor_listen(source, versioned() ? ZMQ_EVENT_ALL | GW_EVENT_PIPES_STATS : ZMQ_EVENT_ALL);
    if (error) gw_raise(error, "monitor", socket, Qnil);
    RB_OBJ_WRITE(self, &reader->socket, socket);
    reader->wanted = wanted;
    reader->limit = most;
    reader->source = source;
    reader->next = source->monitor->readers;
    if (reader->next) reader->next->prev = reader;
    source->monitor->readers = reader;
    reader->open = true;
    return self;
}

static VALUE
to_ruby(event_t *event)
{
    VALUE values = rb_ary_new_capa(event->count);
    for (size_t i = 0; i < event->count; i++) rb_ary_push(values, ULL2NUM(event->values[i]));
    VALUE local = rb_utf8_str_new(event->text, event->local);
    VALUE remote = versioned() ? rb_utf8_str_new(event->text + event->local, event->remote) : Qnil;
    VALUE name = ULL2NUM(event->name);
    free(event);
    return rb_ary_new_from_args(4, name, values, local, remote);
}

/* _next(timeout in ms) => [event, values, local endpoint, remote endpoint or nil], or nil when time is up. What came
 * before the socket's close is handed out first. */
static VALUE
monitor_next(VALUE self, VALUE timeout)
{
    static const char *const operation = "next_event";
    reader_t *reader = get(self);
    if (!reader->open) gw_raise_closed(operation, self);
    gw_call_t call = {
        .self = self, .socket = rb_check_typeddata(reader->socket, &gw_socket_type), .operation = operation,
        .deadline = gw_deadline(gw_milliseconds(timeout, GW_FOREVER)), .quiet = true,
    };
    for (bool more = true;; more = gw_wait_on(&call, 0, gw_monitor_fd(call.socket))) {
        bool news = false;
        if (gw_socket_forked(call.socket)) gw_raise_forked(operation, self);
        if (reader->closed) gw_raise_closed(operation, self);
        int error = reader->first || !reader->source ? 0 : gw_monitor_drain(reader->source, &news);
        event_t *event = take(reader);
        if (event) return to_ruby(event);
        if (!reader->source) gw_raise_closed(operation, self);
        if (error != EAGAIN) gw_raise(error, operation, self, Qnil);
        if (!more) return Qnil;
    }
}

static VALUE
monitor_close(VALUE self)
{
    reader_t *reader = get(self);
    if (!reader->open || reader->closed) return Qnil;
    gw_socket_t *socket = rb_check_typeddata(reader->socket, &gw_socket_type);
    if (gw_socket_forked(socket)) gw_raise_forked("close", self);
    reader->closed = true;
    gw_wake_readers(socket);
    leave(reader);
    return Qnil;
}

/* Whether it gets nothing more: it, or its socket, was closed. */
static VALUE
monitor_closed_p(VALUE self)
{
    reader_t *reader = get(self);
    return RBOOL(!reader->source);
}

/* _waiters => threads and fibers that wait for events of its socket, through any monitor */
static VALUE
monitor_waiters(VALUE self)
{
    gw_socket_t *socket = get(self)->source;
    return LONG2NUM(socket ? gw_line_count(&socket->readers) : 0);
}

static VALUE
monitor_dropped(VALUE self)
{
    return LONG2NUM(get(self)->dropped);
}

/* Has libzmq tell of the pipes of each connection; true: it will. nil where it has no such thing. */
static VALUE
monitor_pipes_stats(VALUE self)
{
    reader_t *reader = get(self);
    if (!reader->source) gw_raise_closed("pipes_stats", self);
    gw_socket_t *socket = gw_socket_open(reader->socket, "pipes_stats");
    if (!gw_draft.socket_monitor_pipes_stats) return Qnil;
    int rc = gw_draft.socket_monitor_pipes_stats(socket->zmq), error = errno;
    gw_settle(socket);
    if (rc != 0 && error != EAGAIN) gw_raise(error, "pipes_stats", self, Qnil);
    return RBOOL(rc == 0);
}

void
gw_init_monitor(void)
{
    VALUE class = rb_define_class_under(gw_mGodwit, "Monitor", rb_cObject);
    rb_define_alloc_func(class, reader_alloc);
    rb_define_private_method(class, "_open", monitor_open, 3);
    rb_define_private_method(class, "_next", monitor_next, 1);
    rb_define_private_method(class, "_close", monitor_close, 0);
    rb_define_private_method(class, "_closed?", monitor_closed_p, 0);
    rb_define_private_method(class, "_dropped", monitor_dropped, 0);
    rb_define_private_method(class, "_waiters", monitor_waiters, 0);
    rb_define_private_method(class, "_pipes_stats", monitor_pipes_stats, 0);
}
