/* What the files of the extension share. One .c per Ruby class or concern; wait.c alone waits, error.c alone raises. */
#ifndef GODWIT_H
#define GODWIT_H

#include <ruby/ruby.h>
#include <ruby/encoding.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <zmq.h>
#include "drafts.h"

#define GW_EXTERN __attribute__((visibility("default")))
#define GW_FOREVER (-1)

#ifndef RBOOL /* Ruby 3.1 keeps it to itself */
#define RBOOL(value) ((value) ? Qtrue : Qfalse)
#endif

/* ---- threads.c: how libzmq's threads are scheduled ---- */

typedef struct {
    int policy, priority;         /* negative: the system's own */
    cpu_set_t cpus;               /* none: any */
} gw_threads_t;

void gw_threads_init(gw_threads_t *threads);
void gw_threads_note(gw_threads_t *threads, int option, int value);
const char *gw_threads_fix(const gw_threads_t *threads);

/* ---- process.c: what belongs to the process: fork counter, native contexts, the reaper, the end ---- */

/* A libzmq context. Its memory lives as long as `refs`, its zmq context as long as `holders` (the open Ruby object, open sockets). */
typedef struct gw_context {
    void *zmq;                    /* owned; given to the reaper when the last holder leaves */
    atomic_int refs;
    atomic_int holders;
    atomic_int open_sockets;
    atomic_int max_sockets;       /* of the user's; libzmq's own limit leaves room for monitors and for those not yet reaped */
    atomic_int linger;            /* ms, default of its sockets; -1: forever */
    atomic_int longest_linger;    /* ms, of the sockets closed so far: what close and exit wait for */
    atomic_int exit_linger;       /* ms that exit waits for one without limit; -1: forever */
    atomic_bool terminated;
    atomic_flag lock;             /* guards `sockets`; never held across a call that may block */
    struct gw_socket *sockets;    /* borrowed: each unlinks itself before it is freed */
    struct gw_early *early;       /* owned; this and the next are guarded by `lock`, see inproc.c */
    void *ender;                  /* owned: libzmq socket that ends such connections; NULL before the first */
    struct gw_context *next;      /* list of the process's contexts */
    unsigned generation;
    int done_fd;                  /* eventfd, readable once zmq_ctx_term has returned */
    gw_threads_t threads;
    bool started;                 /* libzmq makes its threads with the first socket */
} gw_context_t;

extern atomic_uint gw_generation; /* bumped in every forked child */

gw_context_t *gw_context_create(void); /* NULL with errno set */
void gw_context_retain(gw_context_t *context);
void gw_context_release(gw_context_t *context);      /* of its memory */
void gw_context_leave(gw_context_t *context);        /* a holder leaves; the last one starts the reaper */
void gw_context_lock(gw_context_t *context);
void gw_context_unlock(gw_context_t *context);
int gw_context_set_max_sockets(gw_context_t *context, int count); /* gives an errno */
void gw_context_note_linger(gw_context_t *context, int linger);
uint64_t gw_ractor(void); /* number of the current one */
void gw_init_process(void);

/* ---- context.c ---- */

gw_context_t *gw_context_open(VALUE self, const char *operation); /* raises when closed or forked */
void gw_init_context(void);

/* ---- socket.c ---- */

/* LENT: a proxy's loop uses it without the GVL, and nobody else may. */
typedef enum { GW_NEW, GW_OPEN, GW_LENT, GW_CLOSING, GW_CLOSED } gw_state_t;

/* A REQ whose peer vanished in mid-message, and what it still owes libzmq (see send.c). */
typedef enum { GW_REQ_SOUND, GW_REQ_CUT, GW_REQ_OWES_DELIMITER, GW_REQ_OWES_END, GW_REQ_OWES_RELAX } gw_req_repair_t;

/* What a message must look like on this type; all but the first are draft types. */
typedef enum {
    GW_FORM_ANY,
    GW_FORM_SINGLE,   /* one frame */
    GW_FORM_ROUTED,   /* one frame, and a routing id */
    GW_FORM_GROUPED,  /* one frame, and a group */
    GW_FORM_DATAGRAM, /* address and body */
} gw_form_t;

/* Whose turn it is at a REP: READING has the envelope of a request, REPLYING has sent it back. */
typedef enum { GW_REP_IDLE, GW_REP_READING, GW_REP_OWES, GW_REP_REPLYING } gw_rep_turn_t;

/* Those from `first` to before `last`; both are 0 when there is none. */
typedef struct {
    zmq_msg_t *messages;          /* owned, room for so many */
    int first, last, room;
} gw_frames_t;

/* Those who wait for the same thing. */
typedef struct gw_line {
    struct gw_waiter *first, *last; /* owned, in order of arrival */
    struct gw_waiter *spare;      /* owned: kept for the next wait, with their descriptors */
    void (*left)(struct gw_line *line); /* the collector took the last one out, whose fiber was left behind */
} gw_line_t;

typedef struct gw_socket {
    void *zmq;                    /* owned while state is OPEN, LENT or CLOSING */
    gw_context_t *context;        /* retained */
    struct gw_socket *prev, *next; /* of context->sockets */
    gw_line_t line;               /* those who wait */
    gw_line_t readers;            /* those who wait for its monitor; in the other line they would cost every message a look at the socket */
    struct gw_watch *watches;     /* borrowed: its places in pollers */
    struct gw_peers *peers;       /* owned: while it counts its peers */
    struct gw_monitor *monitor;   /* owned: while somebody listens to it */
    struct gw_proxy *proxy;       /* borrowed: while it is lent, also when it is closed then */
    void *poller;                 /* owned: a thread-safe type's zmq_poller, see draft.c; NULL for the others */
    rb_encoding *encoding;        /* borrowed: of the Strings it receives */
    long subscriptions;           /* PUB: live subscriptions, see gw_drain_subscriptions */
    int64_t drained;              /* PUB: when they were last read, ms */
    int64_t receive_timeout;      /* ms; libzmq never sees a blocking call, so it is kept here */
    int64_t send_timeout;
    size_t copy_threshold;        /* bytes from which on frozen Strings are sent in place */
    uint64_t ractor;              /* its owner; only that one uses it */
    unsigned generation;
    unsigned turns;               /* messages since a fiber last yielded */
    int fd;                       /* borrowed from libzmq: ZMQ_FD, or the descriptor of `poller` */
    int edge_fd;                  /* owned: epoll that remembers edges, see wait.c; -1 before */
    int type;                     /* libzmq's */
    int lent_linger;              /* ms, while it is lent */
    gw_frames_t kept;             /* received before a disconnect, not yet read */
    gw_frames_t envelope;         /* REP: of the request that it has */
    gw_state_t state;
    gw_rep_turn_t turn;
    gw_req_repair_t repair;
    gw_form_t form;
    bool publisher;               /* a PUB made of an XPUB: subscriptions are counted and dropped */
    bool relaxed, correlate;      /* REQ: libzmq cannot be asked for them */
    bool stale_reply_pipe;        /* REQ: it may still take a peer that is gone for the one that replies */
    long cut_left;                /* REQ: parts not sent when it was cut */
    bool attached;                /* it has or had an endpoint: from then on its high-water marks are fixed */
    bool indirect;                /* its frames and events go through transfer.c */
    bool sent;                    /* it sent a message */
    bool udp;                     /* it has or had an endpoint of udp://, where messages are small */
    bool counting;                /* peers are to be counted from the first endpoint on */
} gw_socket_t;

extern const rb_data_type_t gw_socket_type;

/* Whether it is the parent process's. */
static inline bool
gw_socket_forked(const gw_socket_t *socket)
{
    return socket->generation != atomic_load_explicit(&gw_generation, memory_order_relaxed);
}

/* Whether the last to leave it is still to come. */
static inline bool
gw_socket_waited_on(const gw_socket_t *socket)
{
    return socket->line.first || socket->readers.first;
}

int gw_descriptors(int needed);              /* whether there are so many to be had; gives an errno */
gw_socket_t *gw_socket_open(VALUE self, const char *operation); /* refuses closed, forked, merely allocated */
void gw_socket_close(gw_socket_t *socket);   /* marks, wakes, and closes if nobody waits */
void gw_socket_release(gw_socket_t *socket); /* zmq_close; only with nobody waiting */
void gw_socket_left(gw_socket_t *socket);    /* who waited has gone, or a proxy: the last releases a socket that was closed meanwhile */
int gw_socket_libzmq_events(gw_socket_t *socket); /* ZMQ_EVENTS, or -1 with errno set */
int gw_socket_events(gw_socket_t *socket);   /* the same, as the socket's user sees them */
int64_t gw_socket_endpoint(VALUE self, VALUE endpoint, const char *operation, int64_t (*function)(gw_socket_t *, const char *)); /* raises for -1 */
void gw_init_socket(void);

/* ---- inproc.c: connections to names that are not bound yet. As libzmq's functions: -1 with errno ---- */

const char *gw_inproc_name(const char *endpoint); /* what the user calls the endpoint that libzmq knows */
int gw_inproc_bind(gw_socket_t *socket, const char *endpoint);
int64_t gw_inproc_connect(gw_socket_t *socket, const char *endpoint, int64_t (*connect)(void *, const char *));
int gw_inproc_disconnect(gw_socket_t *socket, const char *endpoint);
void gw_inproc_leave(gw_socket_t *socket, void *zmq, int linger); /* `zmq`, its socket, is about to be closed */
void gw_inproc_end(gw_context_t *context);

static inline bool
gw_inproc(const char *endpoint)
{
    return strncmp(endpoint, "inproc:", 7) == 0;
}

/* ---- wait.c ---- */

typedef int64_t gw_deadline_t; /* ns on the monotonic clock, or GW_FOREVER */

typedef struct gw_waiter {
    struct gw_waiter *prev, *next;
    gw_line_t *line;              /* borrowed; NULL once its socket or poller was freed */
    VALUE io;                     /* IO over epoll_fd, for a fiber scheduler; made at the first such wait */
    int wake_fd;                  /* owned eventfd: this waiter's own wake-up */
    int epoll_fd;                 /* owned by io; -1 before */
    short events;
    volatile bool signalled;      /* wake_fd was written */
} gw_waiter_t;

/* What one public call carries through its tries and waits. */
typedef struct {
    VALUE self;
    gw_socket_t *socket;          /* NULL when it is a poller's */
    const char *operation;
    gw_deadline_t deadline;
    struct gw_tracker *tracker;   /* borrowed: of a send that is tracked; else NULL */
    bool quiet; /* a wait that its socket's close ended returns: the caller has something left to hand out */
} gw_call_t;

/* Sockets and IOs that are waited for together. One edge-triggered epoll remembers which were written or read; those and the ones
 * that were ready last time are due: to be asked before the next wait. Whoever sleeps sleeps with nothing due. */
typedef struct gw_group {
    gw_line_t line;
    struct gw_watch *due, *last_due; /* borrowed */
    int epoll_fd;                 /* owned while state is OPEN or CLOSING */
    unsigned generation;
    unsigned turns;               /* waits that needed no waiting since a fiber last yielded */
    gw_state_t state;
} gw_group_t;

/* The place of one socket or IO in a group. */
typedef struct gw_watch {
    struct gw_watch *prev, *next; /* of socket->watches */
    struct gw_watch *prev_due, *next_due;
    gw_group_t *group;            /* borrowed */
    gw_socket_t *socket;          /* borrowed; NULL for an IO, or once it was freed */
    VALUE object;                 /* what was registered */
    VALUE io;                     /* its IO, or nil */
    uint64_t serial;              /* what the epoll calls it: a pointer could outlive it there, if a child holds the descriptor */
    int fd;                       /* borrowed: in the group's epoll; -1: not there */
    short events;                 /* asked for */
    bool due;
} gw_watch_t;

gw_deadline_t gw_deadline(int64_t milliseconds);
gw_call_t gw_call(VALUE self, const char *operation, int64_t milliseconds);
bool gw_wait(gw_call_t *call, short events);  /* false: time is up. Raises on close and interrupts */
bool gw_wait_on(gw_call_t *call, short events, int fd); /* the same on another descriptor than the socket's */
bool gw_wait_fd(VALUE self, const char *operation, int fd, gw_deadline_t deadline); /* the same for a bare descriptor, no socket behind it */
bool gw_wait_interrupted(void); /* whether this thread is in a wait already: then this is a trap handler that interrupted it */
void gw_wake(gw_waiter_t *waiter);
void gw_wake_all(gw_socket_t *socket);     /* who waits for messages, room, subscriptions; pollers too */
void gw_wake_readers(gw_socket_t *socket); /* who waits for the monitor */
void gw_wake_after_fork(void);
void gw_settle_waiters(gw_socket_t *socket);
void gw_line_wake(gw_line_t *line);
void gw_line_free(gw_line_t *line);
void gw_line_free_spares(gw_line_t *line);
void gw_line_close_spares(gw_line_t *line); /* their IOs too; may run Ruby */
void gw_line_mark(gw_line_t *line);
void gw_line_compact(gw_line_t *line);
size_t gw_line_size(const gw_line_t *line);
long gw_line_count(const gw_line_t *line); /* threads and fibers that wait in it */
bool gw_group_wait(gw_call_t *call, gw_group_t *group); /* as gw_wait; with nothing due */
bool gw_edge_passed(gw_socket_t *socket);
int64_t gw_milliseconds_now(void); /* coarse, monotonic */
void gw_give_way(gw_call_t *call); /* lets other fibers run, every so many messages */
bool gw_give_turn(unsigned *turns); /* the same, once per call; whether others ran */
void gw_init_wait(void);

/* After every libzmq call on a socket: law 2. With no waiters it costs one comparison. */
static inline void
gw_settle(gw_socket_t *socket)
{
    if (RB_UNLIKELY(socket->line.first != NULL)) gw_settle_waiters(socket);
}

/* After a message went through: a REQ and a REP are then in another state, which serves others with no edge to tell of it. */
static inline void
gw_settle_turn(gw_socket_t *socket)
{
    if (RB_LIKELY(socket->line.first == NULL && socket->watches == NULL)) return;
    if (socket->type == ZMQ_REQ || socket->type == ZMQ_REP) gw_wake_all(socket);
    else gw_settle(socket);
}

/* ---- pin.c ---- */

typedef struct gw_pin gw_pin_t;
typedef struct gw_tracker gw_tracker_t;

bool gw_can_pin(VALUE string);
int gw_pin_message(zmq_msg_t *message, VALUE string, gw_pin_t **made);
void gw_pin_retain(gw_pin_t *pin);
void gw_pin_release(gw_pin_t *pin);
int gw_pin_watch(gw_pin_t *pin, gw_tracker_t *tracker);
gw_tracker_t *gw_tracker_get(VALUE self);
void gw_pins_after_fork(void);
void gw_init_pin(void);

/* ---- frame.c ---- */

bool gw_is_frame(VALUE object);
VALUE gw_frame_take(zmq_msg_t *message, rb_encoding *encoding);
bool gw_frame_sendable(VALUE self);
void gw_frame_check(VALUE self, const char *operation); /* raises unless it is sendable */
int gw_frame_share(VALUE self, zmq_msg_t *message);
void gw_frame_sent(VALUE self);
size_t gw_frame_bytes(VALUE self);
int gw_frame_watch(VALUE self, gw_tracker_t *tracker);
void gw_init_frame(void);

/* ---- transfer.c: frames in and out of libzmq; all give an errno ---- */

int gw_receive_indirectly(gw_socket_t *socket, zmq_msg_t *message);
int gw_send_indirectly(gw_socket_t *socket, zmq_msg_t *message, int flags);
int gw_events_indirectly(gw_socket_t *socket, int events); /* this one as ZMQ_EVENTS */
int gw_keep_message(gw_socket_t *socket);    /* before a disconnect */
void gw_forget_frames(gw_socket_t *socket);

static inline int
gw_receive_frame(gw_socket_t *socket, zmq_msg_t *message)
{
    if (RB_UNLIKELY(socket->indirect)) return gw_receive_indirectly(socket, message);
    while (zmq_msg_recv(message, socket->zmq, ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

/* Leaves the message to the caller when it fails. */
static inline int
gw_send_frame(gw_socket_t *socket, zmq_msg_t *message, int flags)
{
    if (RB_UNLIKELY(socket->indirect)) return gw_send_indirectly(socket, message, flags);
    while (zmq_msg_send(message, socket->zmq, flags | ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

/* ---- pool.c ---- */

int gw_message_init(zmq_msg_t *message, const char *data, size_t size); /* with a copy; gives an errno */

/* ---- send.c, recv.c ---- */

enum { GW_TURNS = 128 }; /* messages that a fiber may move before it lets others run */

/* The socket, if one message may go through it at once and nothing else is due; NULL sends the caller the long way. */
static inline gw_socket_t *
gw_quick(VALUE self)
{
    if (RB_UNLIKELY(!RB_TYPE_P(self, T_DATA) || !RTYPEDDATA_P(self) || RTYPEDDATA_TYPE(self) != &gw_socket_type)) return NULL;
    gw_socket_t *socket = RTYPEDDATA_DATA(self);
    if (RB_UNLIKELY(socket->state != GW_OPEN || gw_socket_forked(socket) || socket->turns + 1 >= GW_TURNS || socket->publisher || socket->form > GW_FORM_SINGLE || socket->peers || socket->repair || socket->stale_reply_pipe)) return NULL;
    socket->turns++;
    return socket;
}

int gw_part_message(const gw_socket_t *socket, VALUE part, zmq_msg_t *message, gw_tracker_t *tracker);
size_t gw_part_size(VALUE part);
void gw_part_sent(VALUE part);
void gw_init_send(VALUE takeover, VALUE owned);
void gw_init_recv(VALUE takeover, VALUE owned);

/* ---- monitor.c ---- */

int gw_monitor_listen(gw_socket_t *socket, uint64_t events); /* gives an errno */
void gw_monitor_leave(gw_socket_t *socket);  /* ends it if nobody listens any more */
int gw_monitor_drain(gw_socket_t *socket, bool *news); /* gives an errno, EAGAIN at the end */
int gw_monitor_fd(gw_socket_t *socket);
void gw_monitor_look(gw_socket_t *socket);   /* for one that nobody reads, now and then; see monitor.c */
void gw_monitor_end(gw_socket_t *socket);    /* the socket closes: what is there goes to the readers */
void gw_monitor_free(gw_socket_t *socket);   /* nobody waits any more */
void gw_monitor_move(gw_socket_t *socket, void *before); /* a REQ was made anew */
void gw_monitor_bind_failed(gw_socket_t *socket, const char *endpoint, int error);
void gw_init_monitor(void);

/* ---- draft.c: found at run time in a libzmq that has drafts ---- */

/* libzmq's functions, as in its header. Without `available` all but the last line's test must not be called. */
typedef struct {
    bool available;
    int (*join)(void *, const char *);
    int (*leave)(void *, const char *);
    int (*msg_set_routing_id)(zmq_msg_t *, uint32_t);
    uint32_t (*msg_routing_id)(zmq_msg_t *);
    int (*msg_set_group)(zmq_msg_t *, const char *);
    const char *(*msg_group)(zmq_msg_t *);
    void *(*poller_new)(void);
    int (*poller_destroy)(void **);
    int (*poller_add)(void *, void *, void *, short);
    int (*poller_fd)(void *, int *);
    /* each NULL where this libzmq is too old or too new for it */
    uint32_t (*connect_peer)(void *, const char *);
    int (*ctx_set_ext)(void *, int, const void *, size_t);
    int (*socket_monitor_versioned)(void *, const char *, uint64_t, int, int);
    int (*socket_monitor_pipes_stats)(void *);
} gw_draft_t;

extern gw_draft_t gw_draft;

int gw_draft_set_routing_id(zmq_msg_t *message, uint32_t id);    /* these give an errno, ENOTSUP without drafts */
int gw_draft_set_group(zmq_msg_t *message, const char *group);
uint32_t gw_draft_routing_id(zmq_msg_t *message);                /* 0: none */
const char *gw_draft_group(zmq_msg_t *message);                  /* borrowed from the message; NULL without drafts */
int gw_draft_open(gw_socket_t *socket);                          /* its descriptor and form; gives an errno */
void gw_draft_close(gw_socket_t *socket);
bool gw_draft_take_signal(gw_socket_t *socket);                  /* only with a poller */
bool gw_draft_fits(const gw_socket_t *socket, long frames);
bool gw_draft_too_large(const gw_socket_t *socket, VALUE message); /* one that fits */
void gw_init_draft(VALUE native);

/* ---- peers.c ---- */

void gw_peers_note(gw_socket_t *socket, uint64_t event, int value);

int gw_peers_start(gw_socket_t *socket); /* gives an errno */
void gw_peers_stop(gw_socket_t *socket);
int gw_drain_subscriptions(gw_socket_t *socket); /* gives an errno, EAGAIN at the end */
void gw_init_peers(void);

/* ---- poller.c ---- */

void gw_group_release(gw_group_t *group); /* only with nobody waiting */
void gw_watch_touch(gw_watch_t *watch);   /* it is due; wakes those who wait */
void gw_poller_detach(gw_socket_t *socket); /* before its descriptor is closed */
void gw_poller_attach(gw_socket_t *socket); /* it has another descriptor */
void gw_poller_forget(gw_socket_t *socket); /* before its memory is freed */
void gw_init_poller(void);

/* ---- proxy.c ---- */

void gw_proxy_end(struct gw_proxy *proxy); /* one of its sockets was closed */

/* What a proxy tells of each message that it has taken, without the GVL. */
typedef struct gw_observer {
    void (*observe)(struct gw_observer *observer, zmq_msg_t *parts, int count, size_t bytes); /* NULL: not open */
    /* How many messages the proxy makes of this one; 0: it passes as it is. */
    int (*count)(const zmq_msg_t *parts, int count);
    /* Makes the next of them out of the last frame, from the offset on; gives how many frames it has,
     * 0 without memory. */
    int (*next)(const zmq_msg_t *batch, size_t *offset, zmq_msg_t *parts);
    unsigned generation;
} gw_observer_t;

extern const rb_data_type_t gw_observer_type; /* the parent of an observer's own type */
void gw_init_proxy(void);

/* ---- accelerators of the logger and the shell ---- */

typedef void gw_json_member_t(void *argument, const char *key, size_t key_size, const char *value, size_t size);
/* Whether the text is a JSON object; calls back with the raw text of each of its keys and values, also before it finds that it is none. */
bool gw_json_members(const char *data, size_t size, gw_json_member_t *found, void *argument);

/* A record in a batch: topic, header and text. */
typedef struct {
    const char *frames[3]; /* borrowed from the batch */
    size_t sizes[3];
} gw_packed_t;

/* How many records the two frames hold; 0: they are no batch. Needs no lock. */
int gw_packing_count(const char *mark, size_t mark_size, const char *data, size_t size);
/* Reads the record at the offset, and moves that on. Needs no lock. */
bool gw_packing_next(const char *data, size_t size, size_t *offset, gw_packed_t *record);

void gw_init_packing(VALUE native);
void gw_init_statistics(VALUE native);
void gw_init_log_queue(VALUE native);
void gw_init_rows(VALUE native);

/* ---- error.c ---- */

NORETURN(void gw_raise(int error, const char *operation, VALUE self, VALUE endpoint));
NORETURN(void gw_raise_closed(const char *operation, VALUE self));
NORETURN(void gw_raise_fixed(VALUE self));
NORETURN(void gw_raise_forked(const char *operation, VALUE self));
NORETURN(void gw_raise_gone(const char *operation, VALUE self));
NORETURN(void gw_raise_busy(const char *operation, VALUE self));
NORETURN(void gw_raise_message(VALUE message, const char *operation, VALUE self));
NORETURN(void gw_raise_detail(const char *name, const char *operation, VALUE detail)); /* the class of that name; detail says what to do */
int64_t gw_milliseconds(VALUE timeout, int64_t otherwise); /* of a primitive's argument: nil is `otherwise` */
void gw_init_error(void);

extern VALUE gw_mGodwit;

#endif
