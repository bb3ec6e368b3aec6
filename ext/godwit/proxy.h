/* Layer 6: pollers, monitors, proxies, and messages with an address. */
#ifndef GODWIT_PROXY_H
#define GODWIT_PROXY_H

#include "message.h"

/* ---- proxy_loop.c: receives and sends messages without the GVL ---- */

/* The functions that a proxy calls for each message that it has received, without the GVL. */
typedef struct gw_observer {
    /* NULL: the observer is not open */
    void (*observe)(struct gw_observer *observer, zmq_msg_t *frames, int count, size_t bytes);
    /* Returns the number of messages in a batch; 0: the frames are no batch of messages. */
    int (*count)(const zmq_msg_t *frames, int count);
    /* Makes the batch's message at the offset, and advances the offset. Returns the number of the
     * message's frames; 0: no memory. */
    int (*next)(const zmq_msg_t *batch, size_t *offset, zmq_msg_t *frames);
    unsigned generation;
} gw_observer_t;

enum { GW_FRONT, GW_BACK, GW_CAPTURE, GW_SIDES };

/* One side's counters. The proxy's loop writes them; any thread reads them. */
typedef struct {
    atomic_ullong received, received_bytes, sent, sent_bytes;
} gw_traffic_t;

/* Limits the bytes of large frames in the back end's queues. These frames may outlive the proxy. */
typedef struct {
    atomic_size_t used;
    atomic_uint references; /* references of the proxy and of each frame */
    size_t most;
} gw_budget_t;

/* One direction of the proxy, and the message that it has received and not yet sent. */
typedef struct {
    int from, to;        /* sides of the proxy */
    bool live;           /* `from` can receive and `to` can send */
    bool captured;       /* the message was copied to the capture socket */
    bool observed;       /* the observer has got the message */
    bool counted;        /* the budget counts the message's large frames */
    int count, capacity; /* frames of the message; initialised elements of `frames` */
    size_t bytes;
    zmq_msg_t *frames; /* owned */
    zmq_msg_t batch;   /* owned while `remaining`: a message that contains several messages */
    size_t offset;     /* offset of the next message in `batch` */
    int remaining;     /* messages of `batch` that are still to come */
} gw_direction_t;

typedef struct gw_proxy {
    VALUE sockets[GW_SIDES];       /* Qnil: none; the back end may be the front end */
    gw_socket_t *native[GW_SIDES]; /* borrowed from `sockets` */
    VALUE observer;                /* Qnil: none */
    gw_observer_t *observing;      /* borrowed from `observer` */
    gw_traffic_t traffic[GW_SIDES];
    atomic_ullong dropped; /* messages to a departed peer, or beyond the budget */
    gw_budget_t *budget;   /* owned, shared with frames; NULL: no budget */
    gw_direction_t directions[2];
    gw_proxy_control_t control;
    unsigned generation;
    int error;          /* errno that ended the loop, or 0 */
    atomic_bool asleep; /* the loop is in poll or about to be */
    bool running;       /* the proxy has claimed the sockets */
} gw_proxy_t;

void *gw_proxy_run(void *proxy); /* rb_nogvl calls this function */
void gw_budget_release(gw_budget_t *budget);

/* ---- poller.c, monitor.c, proxy.c, addressed.c ---- */

extern const rb_data_type_t gw_observer_type; /* parent of the data type of every observer */
void gw_init_poller(void);
void gw_init_monitor(void);
void gw_init_proxy(void);
void gw_init_addressed(void);

/* ---- faster versions of Ruby code, for the layer for rbczmq, the logger and the shell ---- */

void gw_init_rbczmq(VALUE native);

void gw_init_packing(VALUE native);
void gw_init_header(VALUE native);
void gw_init_statistics(VALUE native);
void gw_init_log_queue(VALUE native);
void gw_init_rows(VALUE native);

#endif
