/* Layer 1: errors, libzmq's draft functions, libzmq's threads, and what belongs to the process.
 * Every header includes the header of the layer below; `rake lint:layers` checks the calls. */
#ifndef GODWIT_PROCESS_H
#define GODWIT_PROCESS_H

#include <ruby/ruby.h>
#include <ruby/encoding.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>
#include "constants.h"

#define GW_FOREVER (-1)

#ifndef RBOOL /* Ruby 3.1 does not export it */
#define RBOOL(value) ((value) ? Qtrue : Qfalse)
#endif

/* ---- error.c ---- */

extern VALUE gw_mGodwit;

NORETURN(void gw_raise(int error, const char *operation, VALUE self, VALUE endpoint));
NORETURN(void gw_raise_named(const char *class, const char *operation, VALUE self));
#define gw_raise_closed(operation, self) gw_raise_named("ClosedError", operation, self)
#define gw_raise_forked(operation, self) gw_raise_named("ForkedError", operation, self)
#define gw_raise_busy(operation, self) gw_raise_named("BusyError", operation, self)
/* A message of the wrong type, without a frame, or of a form that the socket does not take. */
NORETURN(void gw_raise_message(VALUE message, const char *operation, VALUE self));
/* The rest says as rb_sprintf what happened and what to do. */
NORETURN(void gw_raise_detail(const char *class, const char *operation, const char *format, ...));
int64_t gw_milliseconds(VALUE timeout, int64_t otherwise); /* nil is `otherwise` */
void gw_init_error(void);

/* ---- draft_symbols.c: libzmq's draft functions, found at run time ---- */

/* If `available` is false, the functions of the first group may be NULL. */
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
    /* NULL where this libzmq lacks the function */
    uint32_t (*connect_peer)(void *, const char *);
    int (*ctx_set_ext)(void *, int, const void *, size_t);
    int (*socket_monitor_versioned)(void *, const char *, uint64_t, int, int);
    int (*socket_monitor_pipes_stats)(void *);
} gw_draft_t;

extern gw_draft_t gw_draft; /* written once, at load */

int gw_draft_set_routing_id(zmq_msg_t *message, uint32_t id);  /* gives an errno */
int gw_draft_set_group(zmq_msg_t *message, const char *group); /* gives an errno */
uint32_t gw_draft_routing_id(zmq_msg_t *message);              /* 0: none */
const char *gw_draft_group(zmq_msg_t *message); /* borrowed from the message; NULL: no drafts */
void gw_init_draft_symbols(VALUE native);

/* ---- threads.c: how libzmq's threads are scheduled ---- */

typedef struct {
    int policy, priority; /* negative: the system's default */
    cpu_set_t cpus;       /* an empty set allows all */
} gw_threads_t;

void gw_threads_init(gw_threads_t *threads);
void gw_threads_record(gw_threads_t *threads, int option, int value);
const char *gw_threads_fix(const gw_threads_t *threads); /* NULL: libzmq can start the threads */

/* ---- process.c: the fork counter, native contexts, their reaper, the exit hook ---- */

static inline int64_t gw_nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t gw_milliseconds_now(void) {
    return gw_nanoseconds(CLOCK_MONOTONIC_COARSE) / 1000000;
}

/* Makes an eventfd readable. Async-signal-safe. A write fails only if it is readable already. */
static inline void gw_event_signal(int fd) {
    uint64_t one = 1;
    ssize_t written = write(fd, &one, sizeof one);
    (void)written;
}

/* Gives whether the eventfd was readable; then it is not. */
static inline bool gw_event_clear(int fd) {
    uint64_t count;
    return read(fd, &count, sizeof count) > 0;
}

/* A libzmq context. Its memory lives as long as `refs`, its zmq context as long as `holders`: the
 * open Ruby object and the open sockets. */
typedef struct gw_context {
    void *zmq; /* owned; given to the reaper when the last holder leaves */
    atomic_int refs;
    atomic_int holders;
    atomic_int open_sockets;
    atomic_int max_sockets; /* of the user's sockets; libzmq's limit includes its internal ones */
    atomic_int linger;      /* ms, default of its sockets; -1: forever */
    atomic_int longest_linger; /* ms, of the sockets closed so far: close and exit wait for it */
    atomic_int exit_linger;    /* ms that exit waits for a socket without limit; -1: forever */
    atomic_bool terminated;
    atomic_flag lock;          /* guards the three below; never held across a call that may block */
    struct gw_socket *sockets; /* borrowed: each socket unlinks itself before it is freed */
    struct gw_early *early;    /* owned: see inproc.c */
    void *ender;               /* owned: libzmq socket that ends such connections; NULL at first */
    struct gw_context *next;   /* list of the process's contexts */
    unsigned generation;
    int done_fd; /* eventfd, readable once zmq_ctx_term has returned */
    gw_threads_t threads;
    bool started; /* libzmq starts its threads with the first socket */
} gw_context_t;

extern atomic_uint gw_generation; /* incremented in every forked child */

gw_context_t *gw_context_create(void); /* NULL with errno set */
void gw_context_retain(gw_context_t *context);
void gw_context_release(gw_context_t *context); /* the last reference frees the memory */
void gw_context_leave(gw_context_t *context);   /* the last holder starts the reaper */
void gw_context_lock(gw_context_t *context);
void gw_context_unlock(gw_context_t *context);
int gw_context_set_max_sockets(gw_context_t *context, int count); /* gives an errno */
void gw_context_record_linger(gw_context_t *context, int linger);
uint64_t gw_ractor(void);       /* number of the current one */
int gw_descriptors(int needed); /* whether the process can open so many; gives an errno */
void gw_after_fork(void (*function)(void));                   /* runs in each forked child */
void gw_before_termination(void (*function)(gw_context_t *)); /* runs before zmq_ctx_term */
void gw_init_process(void);

#endif
