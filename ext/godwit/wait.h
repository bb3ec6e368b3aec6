/* Layer 2: wait queues, monitors, what a poller waits for, and the one function that waits (law 1);
 * no wake-up is lost (law 2). */
#ifndef GODWIT_WAIT_H
#define GODWIT_WAIT_H

#include "process.h"

/* GW_IN_PROXY: a proxy's loop uses the socket without the GVL; every other use is refused. */
typedef enum { GW_NEW, GW_OPEN, GW_IN_PROXY, GW_CLOSING, GW_CLOSED } gw_state_t;

/* After the peer of a REQ vanished in mid-message: what libzmq needs before the next request. */
typedef enum {
    GW_REQ_INTACT,
    GW_REQ_CUT,
    GW_REQ_NEEDS_DELIMITER,
    GW_REQ_NEEDS_END,
    GW_REQ_NEEDS_RELAX
} gw_req_repair_t;

/* The form of a socket's messages. Conflating sockets have GW_FORM_SINGLE. */
typedef enum {
    GW_FORM_ANY,
    GW_FORM_SINGLE,   /* one frame */
    GW_FORM_NAMED,    /* ROUTER, STREAM: a routing id, and at least one frame */
    GW_FORM_ROUTED,   /* SERVER, PEER: one frame, sent to a routing id */
    GW_FORM_GROUPED,  /* RADIO: one frame, sent to a group */
    GW_FORM_DATAGRAM, /* DGRAM: two frames, address and body */
} gw_form_t;

/* The threads and fibers that wait on one object. The GVL guards the queue. */
typedef struct gw_wait_queue {
    struct gw_waiter *first, *last; /* owned: waiters in order of arrival */
    struct gw_waiter *spare;        /* owned: unused waiters, whose descriptors later waits reuse */
    void (*emptied)(struct gw_wait_queue *queue); /* called after the last waiter departs */
} gw_wait_queue_t;

/* What a socket's methods have sent and received; a proxy has counters of its own. */
typedef struct {
    uint64_t sent, sent_bytes, received, received_bytes;
    time_t last; /* time of the last message, see counts.c; 0: unknown */
} gw_counts_t;

/* Bits of gw_proxy_control_t. */
enum { GW_PROXY_STOP = 1, GW_PROXY_PAUSE = 2, GW_PROXY_CLOSED = 4, GW_PROXY_INTERRUPTED = 8 };

/* The means by which other threads control a proxy's loop. */
typedef struct {
    atomic_int bits;
    int wake_fd; /* owned eventfd, which wakes the loop */
} gw_proxy_control_t;

/* Sets the bits and wakes the proxy's loop. A signal handler may call this function. */
static inline void gw_proxy_signal(gw_proxy_control_t *control, int bits) {
    atomic_fetch_or(&control->bits, bits);
    gw_event_signal(control->wake_fd);
}

/* A socket. The GVL guards it; in state GW_IN_PROXY only the proxy's loop uses it. */
typedef struct gw_socket {
    gw_link_t link;                  /* entry in context->sockets; must be first, see gw_link_t */
    void *zmq;                       /* owned while state is OPEN, IN_PROXY or CLOSING */
    gw_context_t *context;           /* retained */
    gw_wait_queue_t queue;           /* waiters for messages, room to send, or subscriptions */
    gw_wait_queue_t monitor_waiters; /* waiters for monitor events; messages do not wake them */
    struct gw_watch *watches;        /* borrowed: one gw_watch_t for each poller with the socket */
    struct gw_peers *peers;          /* owned; NULL: the socket does not count its peers */
    struct gw_monitor *monitor;      /* owned; NULL: no Monitor and no peer count needs events */
    gw_proxy_control_t *proxy; /* borrowed from the proxy that uses the socket; NULL: no proxy */
    void *poller;              /* owned: a thread-safe type's zmq_poller; NULL for other types */
    rb_encoding *encoding;     /* borrowed: encoding of received Strings */
    long subscriptions;        /* PUB: its peers' subscriptions, see gw_drain_subscriptions */
    int64_t drained;           /* PUB: ms, when subscriptions were last read */
    int64_t receive_timeout;   /* ms, for Godwit's waits: calls of libzmq never block */
    int64_t send_timeout;
    size_t copy_threshold; /* bytes; frozen Strings of at least this size are sent in place */
    uint64_t ractor;       /* the Ractor that owns the socket */
    unsigned generation;
    unsigned calls_since_yield; /* messages since the last yield to another fiber */
    int fd;                     /* borrowed from libzmq: ZMQ_FD, or the descriptor of `poller` */
    int edge_fd;                /* owned: epoll for edges of `fd`, see gw_edge_passed; -1: none */
    int type;                   /* libzmq's number of the type */
    int proxy_linger;           /* linger in ms, while a proxy uses the socket */
    gw_counts_t counts;
    gw_buffered_t buffered; /* frames that the socket has received or must send back */
    gw_state_t state;
    gw_req_repair_t repair;
    gw_form_t form;
    bool publisher;          /* a PUB made of an XPUB: it counts and drops subscriptions */
    bool relaxed, correlate; /* REQ: options that libzmq does not return */
    bool stale_reply_pipe;   /* REQ: libzmq may expect the reply from a departed peer */
    long cut_remaining;      /* REQ: frames not sent when the peer vanished in mid-message */
    bool attached;           /* has or had an endpoint: the high-water marks are fixed */
    bool in_batch;           /* gw_batch is running, and wakes the waiters at its end */
    uint64_t sent_before;    /* `counts.sent` when the present libzmq socket was made */
    char *names;             /* owned: endpoints other than inproc, see unsent.c; NULL: none */
    bool udp;                /* has or had a udp:// endpoint, which limits the size of messages */
    bool counting;           /* the next bind or connect begins the count of peers */
    bool diagnosing;         /* Ruby diagnoses a slow wait; see gw_begin */
    bool fruitless;          /* the last diagnosed wait timed out */
    bool diagnosed;          /* an endless wait was diagnosed since the last bind or connect */
} gw_socket_t;

/* Returns the number of messages that the current libzmq socket has accepted. */
static inline long gw_sent(const gw_socket_t *socket) {
    return (long)(socket->counts.sent - socket->sent_before);
}

/* Whether the socket belongs to the parent process. */
static inline bool gw_socket_forked(const gw_socket_t *socket) {
    return gw_forked(socket->generation);
}

/* ---- wait_queue.c ---- */

typedef struct gw_waiter {
    struct gw_waiter *prev, *next;
    gw_wait_queue_t *queue; /* borrowed; NULL once the socket or poller was freed */
    VALUE io;               /* IO over epoll_fd, for a fiber scheduler; nil at first */
    int wake_fd;            /* owned eventfd, which wakes this waiter and no other */
    int epoll_fd;           /* owned by `io`; -1: no epoll yet */
    short events;
    volatile bool signalled; /* whether a call wrote to wake_fd */
} gw_waiter_t;

/* A poller. Its edge-triggered epoll reports the sockets and IOs whose descriptors were read or
 * written. Their watches, and those that were ready at the last wait, are due: the poller polls
 * them before the next wait. */
typedef struct gw_poller {
    gw_wait_queue_t queue;
    struct gw_watch **watches;       /* owned, in the order of their serials */
    struct gw_watch *due, *last_due; /* list of the due watches, borrowed from `watches` */
    long count;                      /* entries of `watches` */
    long ios;                        /* how many of `watches` are IOs */
    uint64_t serial;                 /* serial number of the newest watch */
    int epoll_fd;                    /* owned while state is OPEN or CLOSING */
    unsigned generation;
    unsigned calls_since_yield; /* waits since the last yield to another fiber */
    gw_state_t state;
} gw_poller_t;

/* One socket or IO in a poller. */
typedef struct gw_watch {
    struct gw_watch *next; /* next of socket->watches */
    struct gw_watch *prev_due, *next_due;
    gw_poller_t *poller; /* borrowed */
    gw_socket_t *socket; /* borrowed; NULL for an IO, or once the socket was freed */
    VALUE object;        /* the registered object */
    VALUE io;            /* the object's IO, or nil */
    uint64_t serial;     /* names this watch in the epoll, where a fork may leave removed watches */
    int fd;              /* borrowed: registered in the poller's epoll; -1: none */
    short events;        /* events that the user wants */
    bool due;
} gw_watch_t;

void gw_waiter_add(gw_wait_queue_t *queue, gw_waiter_t *waiter);
void gw_waiter_remove(gw_wait_queue_t *queue, gw_waiter_t *waiter);
/* Returns NULL with errno set on failure. */
gw_waiter_t *gw_waiter_claim(gw_wait_queue_t *queue, bool reuse);
void gw_waiter_release(gw_wait_queue_t *queue, gw_waiter_t *waiter);
void gw_waiter_free(gw_waiter_t *waiter);
void gw_waiter_signal(void *waiter); /* a signal handler may call this */
void gw_waiter_wake(gw_waiter_t *waiter);
int gw_waiter_close_io(VALUE io); /* returns the state of rb_protect */
void gw_wait_queue_wake(gw_wait_queue_t *queue);
void gw_wait_queue_free(gw_wait_queue_t *queue);
void gw_wait_queue_free_spares(gw_wait_queue_t *queue);
void gw_wait_queue_close_spares(gw_wait_queue_t *queue); /* closes their `io`; runs Ruby code */
void gw_wait_queue_mark(gw_wait_queue_t *queue);
void gw_wait_queue_compact(gw_wait_queue_t *queue);
size_t gw_wait_queue_size(const gw_wait_queue_t *queue);
/* Returns the number of threads and fibers that wait in the queue. */
long gw_wait_queue_count(const gw_wait_queue_t *queue);
void gw_watch_touch(gw_watch_t *watch); /* adds to the poller's list `due`, wakes its waiters */
void gw_wake_all(gw_socket_t *socket);  /* wakes waiters and pollers, but no monitor waiters */
void gw_wake_monitor_waiters(gw_socket_t *socket);
bool gw_edge_passed(gw_socket_t *socket);
void gw_forget_edges(gw_socket_t *socket);
bool gw_clear_signal(gw_socket_t *socket); /* thread-safe type: returns whether a signal came */

/* ---- watches.c: the sockets and IOs of pollers ---- */

void gw_watch_settle(gw_watch_t *watch);        /* removes the watch from the poller's `due` */
int gw_watch_attach(gw_watch_t *watch, int fd); /* returns an errno */
void gw_watch_detach(gw_watch_t *watch);
void gw_watch_unlink(gw_watch_t *watch);      /* unlinks the watch from its socket */
void gw_watches_detach(gw_socket_t *socket);  /* call this before zmq_close */
void gw_watches_attach(gw_socket_t *socket);  /* call this after the socket got a new ZMQ_FD */
void gw_watches_forget(gw_socket_t *socket);  /* call this before the socket is freed */
void gw_watches_collect(gw_poller_t *poller); /* adds each watch whose fd had an edge to `due` */
void gw_watches_free(gw_poller_t *poller);

/* ---- peers.c: counts a socket's peers by the events of its monitor ---- */

enum {
    GW_PEER_OPENED = ZMQ_EVENT_CONNECTED | ZMQ_EVENT_ACCEPTED,
    GW_PEER_FAILED = ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
            ZMQ_EVENT_HANDSHAKE_FAILED_AUTH,
    GW_PEER_EVENTS = GW_PEER_OPENED | GW_PEER_FAILED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
            ZMQ_EVENT_DISCONNECTED,
};

/* `unordered`: several I/O threads may report a connection's opening after its handshake or end. */
struct gw_peers *gw_peers_new(bool unordered); /* NULL: no memory */
void gw_peers_free(struct gw_peers *peers);
void gw_peers_record(struct gw_peers *peers, uint64_t event, int value);
/* Returns the number of open connections; if `shaken_hands`, of those with a finished handshake. */
long gw_peers_count(const struct gw_peers *peers, bool shaken_hands);

/* ---- monitor_events.c: libzmq's monitor events, and the Monitors' queues for them ---- */

enum { GW_EVENT_VALUES = 4 }; /* most values of an event; libzmq's events have two at most */

typedef struct gw_event {
    struct gw_event *next;
    uint64_t name;
    uint64_t values[GW_EVENT_VALUES];
    size_t count;         /* number of `values` */
    size_t local, remote; /* bytes of each endpoint in `text`; events of version 1 have no remote */
    char text[];
} gw_event_t;

/* The queue of one Monitor's events. */
typedef struct gw_listener {
    struct gw_listener *next;
    gw_socket_t *source; /* borrowed; NULL once the socket's monitor has ended */
    VALUE socket;
    gw_event_t *first, *last; /* owned, from malloc */
    long count, limit, dropped;
    size_t bytes;
    uint64_t wanted;
    bool open, closed;
} gw_listener_t;

/* Whether libzmq has events of version 2. */
static inline bool gw_monitor_versioned(void) { return gw_draft.socket_monitor_versioned != NULL; }

int gw_monitor_listen(gw_socket_t *socket, uint64_t events); /* returns an errno */
void gw_monitor_add(gw_socket_t *socket, gw_listener_t *listener);
void gw_monitor_remove(gw_listener_t *listener);
gw_event_t *gw_monitor_dequeue(gw_listener_t *listener);
int gw_monitor_drain(gw_socket_t *socket, bool *any); /* returns an errno; `any` may be NULL */
void gw_monitor_drain_when_due(gw_socket_t *socket);  /* drains every few ms at most */
int gw_monitor_fd(gw_socket_t *socket);
int gw_monitor_count_peers(gw_socket_t *socket, const char *endpoint); /* returns an errno */
void gw_monitor_stop_counting(gw_socket_t *socket);
void gw_monitor_bind_failed(gw_socket_t *socket, const char *endpoint, int error);
/* Moves the monitor from the libzmq socket `before` to the socket's present one. */
void gw_monitor_move(gw_socket_t *socket, void *before);
void gw_monitor_end(gw_socket_t *socket);
void gw_monitor_free(gw_socket_t *socket);

/* ---- wait.c ---- */

typedef int64_t gw_deadline_t; /* ns on the monotonic clock, or GW_FOREVER */

/* The state of one public call through its tries and waits. */
typedef struct {
    VALUE self;
    gw_socket_t *socket; /* NULL for the call of a poller */
    const char *operation;
    gw_deadline_t deadline;
    struct gw_tracker *tracker; /* borrowed: the tracker of a tracked send; else NULL */
    gw_deadline_t diagnose_at;  /* when a diagnosis is due; 0: never, or not known yet */
    int64_t diagnose_again;     /* ns from that diagnosis to the next */
    bool diagnoses;             /* whether Ruby diagnoses a slow wait */
    bool quiet;                 /* whether a close of the socket ends the wait without an error */
} gw_call_t;

/* The functions that wait return false when time is up. They raise on close and on interrupts. */
gw_deadline_t gw_deadline(int64_t milliseconds);
void gw_call_set_deadline(gw_call_t *call, int64_t milliseconds); /* also enables a diagnosis */
bool gw_wait(gw_call_t *call, short events);
/* Like gw_wait, but on `fd` instead of ZMQ_FD. */
bool gw_wait_on(gw_call_t *call, short events, int fd);
/* Waits until `fd` is readable; no socket is involved. */
bool gw_wait_fd(VALUE self, const char *operation, int fd, gw_deadline_t deadline);
bool gw_wait_poller(gw_call_t *call, gw_poller_t *poller); /* call this while `due` is empty */
bool gw_wait_interrupted(void);      /* whether this is a trap handler that interrupted a wait */
bool gw_yield_turn(unsigned *calls); /* yields every GW_YIELD_EVERY calls; true: other fibers ran */
void gw_init_wait(void);

#endif
