/* Layer 6: pollers, monitors, proxies, and messages with an address. */
#ifndef GODWIT_PROXY_H
#define GODWIT_PROXY_H

#include "message.h"

/* ---- poller_watch.c: the sockets and IOs of a poller ---- */

typedef struct {
    gw_group_t group;
    gw_watch_t **watches; /* owned, in the order of their serials */
    long count;
    long ios; /* of those, how many are IOs */
    uint64_t serial;
} gw_poller_t;

void gw_poller_collect(gw_poller_t *poller); /* makes due what was touched since the last call */
void gw_poller_drop_watches(gw_poller_t *poller);
void gw_watch_settle(gw_watch_t *watch);        /* makes it not due */
int gw_watch_attach(gw_watch_t *watch, int fd); /* gives an errno */
void gw_watch_detach(gw_watch_t *watch);
void gw_watch_leave_socket(gw_watch_t *watch);
void gw_watches_detach(gw_socket_t *socket);
void gw_watches_attach(gw_socket_t *socket, void *before);
void gw_watches_forget(gw_socket_t *socket);

/* ---- monitor_events.c: libzmq's events, and the queues that they go to ---- */

enum { GW_EVENT_VALUES = 4 }; /* of an event; libzmq's version 2 uses two at most */

typedef struct gw_event {
    struct gw_event *next;
    uint64_t name;
    uint64_t values[GW_EVENT_VALUES];
    size_t count;         /* of `values` */
    size_t local, remote; /* bytes of each endpoint in `text`; version 1 has `local` alone */
    char text[];
} gw_event_t;

/* One Monitor's queue. */
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

int gw_monitor_listen(gw_socket_t *socket, uint64_t events); /* gives an errno */
void gw_monitor_add(gw_socket_t *socket, gw_listener_t *listener);
void gw_monitor_remove(gw_listener_t *listener);
gw_event_t *gw_monitor_take(gw_listener_t *listener);
int gw_monitor_drain(gw_socket_t *socket, bool *any); /* gives an errno; `any` may be NULL */
int gw_monitor_fd(gw_socket_t *socket);
void gw_monitor_end(gw_socket_t *socket);
void gw_init_monitor_events(void);

/* ---- proxy_loop.c: moves messages without the GVL ---- */

/* What a proxy calls for each message that it has taken, without the GVL. */
typedef struct gw_observer {
    /* NULL: not open */
    void (*observe)(struct gw_observer *observer, zmq_msg_t *parts, int count, size_t bytes);
    /* How many messages the proxy makes of this one; 0: it stays as it is. */
    int (*count)(const zmq_msg_t *parts, int count);
    /* Makes the next of them out of the last frame, from the offset on; gives how many frames it
     * has, or 0 without memory. */
    int (*next)(const zmq_msg_t *batch, size_t *offset, zmq_msg_t *parts);
    unsigned generation;
} gw_observer_t;

enum { GW_FRONT, GW_BACK, GW_CAPTURE, GW_PLACES };

/* Bits of `control`. */
enum { GW_PROXY_STOP = 1, GW_PROXY_PAUSE = 2, GW_PROXY_CLOSED = 4, GW_PROXY_INTERRUPTED = 8 };

/* The loop writes it, any thread reads it. */
typedef struct {
    atomic_ullong received, received_bytes, sent, sent_bytes;
} gw_traffic_t;

/* Counts the bytes of large frames in the back end's queues. These frames may outlive the proxy. */
typedef struct {
    atomic_size_t held;
    atomic_uint references; /* of the proxy, and of each frame */
    size_t most;
} gw_budget_t;

/* One direction of the proxy, and the message that it has received and not yet sent. */
typedef struct {
    int from, to;        /* places */
    bool live;           /* `from` can receive and `to` can send */
    bool captured;       /* the message was copied to the capture socket */
    bool observed;       /* the observer has seen it */
    bool counted;        /* its large frames are in the budget */
    int count, capacity; /* frames of the message, and initialised ones */
    size_t bytes;
    zmq_msg_t *parts; /* owned */
    zmq_msg_t batch;  /* owned while `left`: a message that becomes several */
    size_t offset;    /* of the next message in `batch` */
    int left;         /* messages in `batch` */
} gw_direction_t;

typedef struct gw_proxy {
    VALUE sockets[GW_PLACES];       /* Qnil: none; the back end may be the front end */
    gw_socket_t *native[GW_PLACES]; /* borrowed from `sockets` */
    VALUE observer;                 /* Qnil: none */
    gw_observer_t *observing;       /* borrowed from `observer` */
    gw_traffic_t traffic[GW_PLACES];
    atomic_ullong dropped; /* replies to a peer that left; messages beyond the budget */
    gw_budget_t *budget;   /* owned, shared with frames; NULL: none */
    gw_direction_t directions[2];
    atomic_int control;
    int wake_fd; /* owned eventfd */
    unsigned generation;
    int error;          /* errno that ended the loop, or 0 */
    atomic_bool asleep; /* the loop is in poll or about to be */
    bool running;       /* the proxy has the sockets */
} gw_proxy_t;

void gw_proxy_signal(gw_proxy_t *proxy, int bits); /* async-signal-safe */
void *gw_proxy_run(void *proxy);                   /* for rb_nogvl */
void gw_budget_leave(gw_budget_t *budget);

/* ---- poller.c, monitor.c, proxy.c, addressed.c ---- */

extern const rb_data_type_t gw_observer_type; /* the parent of an observer's own type */
void gw_init_poller(void);
void gw_init_monitor(void);
void gw_init_proxy(void);
void gw_init_addressed(void);

/* ---- accelerators of the logger and the shell, beside godwit.c ---- */

void gw_init_packing(VALUE native);
void gw_init_header(VALUE native);
void gw_init_statistics(VALUE native);
void gw_init_log_queue(VALUE native);
void gw_init_rows(VALUE native);

#endif
