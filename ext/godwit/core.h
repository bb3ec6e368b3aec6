/* Layer 0, the lowest layer of C files. They use no Ruby VM, so mruby's gem (mruby/) compiles them
 * too: contexts, the scheduling of libzmq's threads, memory of small messages, connections over
 * inproc, and buffered frames. This file does not include ruby.h. */
#ifndef GODWIT_CORE_H
#define GODWIT_CORE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* for ppoll and cpu_set_t; ruby.h defines this macro too */
#endif
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

#define GW_LIKELY(condition) __builtin_expect(!!(condition), 1)
#define GW_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* ---- threads.c: how libzmq's threads are scheduled ---- */

typedef struct {
    int policy, priority; /* a negative number: the system's default */
    cpu_set_t cpus;       /* an empty set allows all */
} gw_threads_t;

void gw_threads_init(gw_threads_t *threads);
void gw_threads_record(gw_threads_t *threads, int option, int value);
/* Returns a text that says which option must change before libzmq starts threads; NULL: none. */
const char *gw_threads_fix(const gw_threads_t *threads);

/* ---- process.c: clocks, eventfds, the counter of forks, free descriptors ---- */

static inline int64_t gw_nanoseconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t gw_milliseconds_exact(void) {
    return gw_nanoseconds(CLOCK_MONOTONIC) / 1000000;
}

/* This clock is cheaper than gw_milliseconds_exact, and a few ms late. */
static inline int64_t gw_milliseconds_now(void) {
    return gw_nanoseconds(CLOCK_MONOTONIC_COARSE) / 1000000;
}

/* Makes an eventfd readable. The function is async-signal-safe. A write fails only if the eventfd
 * is readable already. */
static inline void gw_event_signal(int fd) {
    uint64_t one = 1;
    ssize_t written = write(fd, &one, sizeof one);
    (void)written;
}

/* Makes the eventfd unreadable. Returns whether it was readable. */
static inline bool gw_event_clear(int fd) {
    uint64_t count;
    return read(fd, &count, sizeof count) > 0;
}

extern atomic_uint gw_generation; /* incremented in every forked child */

/* Returns whether an object with this generation belongs to the parent process. */
static inline bool gw_forked(unsigned generation) {
    return generation != atomic_load_explicit(&gw_generation, memory_order_relaxed);
}

int gw_descriptors(int needed);             /* returns an errno; 0: `needed` descriptors are free */
void gw_after_fork(void (*function)(void)); /* each forked child calls the function */
void gw_init_process(void);

/* The lock is an atomic flag, not a mutex: a forked child must clear a lock that another thread of
 * the parent held at the fork. No call that may block runs under the lock. */
static inline void gw_spin_lock(atomic_flag *flag) {
    while (atomic_flag_test_and_set_explicit(flag, memory_order_acquire)) sched_yield();
}

static inline void gw_spin_unlock(atomic_flag *flag) {
    atomic_flag_clear_explicit(flag, memory_order_release);
}

/* Links a socket into its context's list. In CRuby's and mruby's socket structs it comes first. */
typedef struct gw_link {
    struct gw_link *prev, *next;
} gw_link_t;

/* A libzmq context. The last release frees this struct. `opens` counts open Context objects and
 * open sockets; when it reaches 0, a new thread, the reaper, calls zmq_ctx_term. */
typedef struct gw_context {
    void *zmq; /* owned; the reaper terminates it */
    atomic_int refs;
    atomic_int opens;
    atomic_int open_sockets;
    atomic_int max_sockets;    /* limit for the user; libzmq's limit counts internal sockets too */
    atomic_int linger;         /* ms, default of the context's sockets; -1: forever */
    atomic_int longest_linger; /* ms, longest linger of a closed socket; exit waits for it */
    atomic_int exit_linger;    /* ms that exit waits if longest_linger is -1; -1: forever */
    atomic_flag lock;          /* guards `sockets`, `early` and `closer` */
    gw_link_t *sockets;        /* borrowed: each socket unlinks itself before it is freed */
    struct gw_early *early;    /* owned: connections to inproc names that are not bound yet */
    void *closer;              /* owned: libzmq socket that ends early connections; NULL at first */
    struct gw_context *next;   /* next in the list of the process's contexts */
    _Atomic(const void *) closed_by; /* the VM that closed the context last; NULL: CRuby */
    unsigned generation;
    int done_fd; /* eventfd, readable once zmq_ctx_term has returned */
    gw_threads_t threads;
    bool started; /* a socket was made, so libzmq has started its threads */
} gw_context_t;

/* ---- pool.c ---- */

/* Makes a message with a copy of the bytes. Returns an errno. Needs no lock. */
int gw_message_init(zmq_msg_t *message, const char *data, size_t size);

/* Makes malloc return less of the freed memory to the system (ADR 40). Needs no lock. */
void gw_raise_trim_threshold(void);

/* ---- frames.c: frames that a socket buffers; the gw_zmq_ functions wake no waiting thread ---- */

static inline int gw_zmq_receive(void *zmq, zmq_msg_t *message) {
    while (zmq_msg_recv(message, zmq, ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

static inline int gw_zmq_send(void *zmq, zmq_msg_t *message, int flags) {
    while (zmq_msg_send(message, zmq, flags | ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

/* Returns a new socket with this linger in ms; NULL with errno set. */
void *gw_zmq_open(gw_context_t *context, int type, int linger);
int gw_zmq_get(void *zmq, int option, void *value, size_t *size);      /* returns an errno */
int gw_zmq_set(void *zmq, int option, const void *value, size_t size); /* returns an errno */
int gw_zmq_events(void *zmq);                                          /* -1 with errno set */

/* A list of messages, at the indexes from `first` to `last` - 1. */
typedef struct {
    zmq_msg_t *messages; /* owned */
    int first, last, capacity;
} gw_frames_t;

/* States of a REP. READING: envelope received; OWES: request received; REPLYING: envelope sent. */
typedef enum { GW_REP_IDLE, GW_REP_READING, GW_REP_OWES, GW_REP_REPLYING } gw_rep_turn_t;

typedef struct {
    gw_frames_t ahead;    /* frames received before a disconnect, not yet read by the user */
    gw_frames_t envelope; /* REP: envelope of the request being answered */
    gw_rep_turn_t turn;
    bool indirect; /* the socket must call gw_buffered_ functions, not libzmq's */
} gw_buffered_t;

/* Moves the message to the end of the list; returns an errno. */
int gw_frames_add(gw_frames_t *frames, zmq_msg_t *message);
void gw_frames_clear(gw_frames_t *frames);
void gw_frames_free(gw_frames_t *frames);
void gw_buffered_clear(gw_buffered_t *buffered, int type);
/* The next two functions return an errno. `type` is the type of the user's socket. */
int gw_buffered_receive(gw_buffered_t *buffered, void *zmq, int type, zmq_msg_t *message);
int gw_buffered_send(gw_buffered_t *buffered, void *zmq, int type, zmq_msg_t *message, int flags);
/* Returns the events that the user sees, from libzmq's `events`. */
int gw_buffered_events(gw_buffered_t *buffered, void *zmq, int type, int events);
/* Receives the rest of a begun message; call this before a disconnect. Returns an errno. */
int gw_buffered_read_ahead(gw_buffered_t *buffered, void *zmq, int type);

/* How a send continues after libzmq has refused a frame, so that messages stay whole (ADR 3). */
typedef enum {
    GW_NOT_CUT,     /* no frame was sent, or the error is not EAGAIN: the send fails */
    GW_CUT_BEGINS,  /* begin again from the first frame */
    GW_CUT_DROPS,   /* libzmq drops the message's other frames: send empty ones, then begin again */
    GW_CUT_REQUEST, /* a REQ must be recreated or repaired first */
} gw_cut_t;

static inline gw_cut_t gw_cut(int type, int error, bool begun) {
    if (error != EAGAIN || !begun) return GW_NOT_CUT;
    if (type == ZMQ_REQ) return GW_CUT_REQUEST;
    return type == ZMQ_PUSH || type == ZMQ_DEALER ? GW_CUT_DROPS : GW_CUT_BEGINS;
}

/* ---- inproc.c: connections to names that are not bound yet; functions that return -1 set errno */

typedef struct {
    gw_context_t *context;
    const void *owner; /* identifies the user's socket, whose libzmq socket may change */
    void *zmq;
    int type;
} gw_inproc_end_t;

const char *gw_inproc_name(const char *endpoint); /* the user's name for this libzmq endpoint */
/* The next three functions accept any transport. `connect` wraps a libzmq call that connects. */
int gw_endpoint_bind(gw_inproc_end_t end, const char *endpoint);
int64_t gw_endpoint_connect(
        gw_inproc_end_t end, const char *endpoint, int64_t (*connect)(void *, const char *));
int gw_endpoint_disconnect(gw_inproc_end_t end, gw_buffered_t *buffered, const char *endpoint);
int64_t gw_zmq_connect(void *zmq, const char *endpoint);
void gw_inproc_close(
        gw_inproc_end_t end, int linger);        /* linger in ms; call this before zmq_close */
void gw_inproc_terminate(gw_context_t *context); /* call this before zmq_ctx_term */
static inline bool gw_inproc(const char *endpoint) { return strncmp(endpoint, "inproc:", 7) == 0; }

/* ---- native_context.c: contexts, and the threads (reapers) that terminate them ---- */

gw_context_t *gw_context_create(void); /* sets `opens` to 1; NULL with errno set: the call failed */
void gw_context_retain(gw_context_t *context);
void gw_context_release(gw_context_t *context); /* the last release frees the memory */
/* Subtracts 1 from `opens`; at 0 the reaper thread starts, and terminates the context. */
void gw_context_close(gw_context_t *context, const void *vm);
void gw_context_add(gw_context_t *context, gw_link_t *socket);
void gw_context_remove(gw_context_t *context, gw_link_t *socket);
int gw_context_set_max_sockets(gw_context_t *context, int count); /* returns an errno */
void gw_context_record_linger(gw_context_t *context, int linger);
/* Waits at exit, for at most `most` ms, for the linger of a context that `vm` has closed; NULL: any
 * VM. `start`: when exit began, in ms. Returns false when no context remains, or after a signal
 * that ends the process. */
bool gw_contexts_await(const void *vm, int64_t start, int64_t most);
void gw_init_native_context(void);

#endif
