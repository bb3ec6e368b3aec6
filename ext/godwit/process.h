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
#include <zmq.h>
#include "constants.h"

#define GW_EXTERN __attribute__((visibility("default")))
#define GW_FOREVER (-1)

#ifndef RBOOL /* Ruby 3.1 does not export it */
#define RBOOL(value) ((value) ? Qtrue : Qfalse)
#endif

/* ---- error.c ---- */

extern VALUE gw_mGodwit;

NORETURN(void gw_raise(int error, const char *operation, VALUE self, VALUE endpoint));
NORETURN(void gw_raise_closed(const char *operation, VALUE self));
NORETURN(void gw_raise_fixed(VALUE self));
NORETURN(void gw_raise_forked(const char *operation, VALUE self));
NORETURN(void gw_raise_gone(const char *operation, VALUE self));
NORETURN(void gw_raise_busy(const char *operation, VALUE self));
NORETURN(void gw_raise_message(VALUE message, const char *operation, VALUE self));
/* The class of that name; `detail` says what to do. */
NORETURN(void gw_raise_detail(const char *name, const char *operation, VALUE detail));
int64_t gw_milliseconds(VALUE timeout, int64_t otherwise); /* of a primitive; nil is `otherwise` */
void gw_init_error(void);

/* ---- draft_symbols.c: libzmq's draft functions, found at run time ---- */

/* Without `available` only the functions of the last group may be tested for NULL. */
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

extern gw_draft_t gw_draft; /* written once, at load */

int gw_draft_set_routing_id(zmq_msg_t *message, uint32_t id);  /* gives an errno */
int gw_draft_set_group(zmq_msg_t *message, const char *group); /* gives an errno */
uint32_t gw_draft_routing_id(zmq_msg_t *message);              /* 0: none */
const char *gw_draft_group(zmq_msg_t *message); /* borrowed from the message; NULL: no drafts */
void gw_init_draft_symbols(VALUE native);

/* ---- threads.c: how libzmq's threads are scheduled ---- */

typedef struct {
    int policy, priority; /* negative: the system's own */
    cpu_set_t cpus;       /* none: any */
} gw_threads_t;

void gw_threads_init(gw_threads_t *threads);
void gw_threads_record(gw_threads_t *threads, int option, int value);
const char *gw_threads_fix(const gw_threads_t *threads); /* NULL: libzmq can start them */

/* ---- process.c: the fork counter, native contexts, their reaper, the end ---- */

/* A libzmq context. Its memory lives as long as `refs`, its zmq context as long as `holders` (the
 * open Ruby object and the open sockets). */
typedef struct gw_context {
    void *zmq; /* owned; given to the reaper when the last holder leaves */
    atomic_int refs;
    atomic_int holders;
    atomic_int open_sockets;
    atomic_int max_sockets;    /* of the user's; libzmq's limit has room for internal ones too */
    atomic_int linger;         /* ms, default of its sockets; -1: forever */
    atomic_int longest_linger; /* ms, of the sockets closed so far: close and exit wait for it */
    atomic_int exit_linger;    /* ms that exit waits for one without limit; -1: forever */
    atomic_bool terminated;
    atomic_flag lock;          /* guards `sockets`; never held across a call that may block */
    struct gw_socket *sockets; /* borrowed: each unlinks itself before it is freed */
    struct gw_early *early;    /* owned; guarded by `lock`, as is `ender`: see inproc.c */
    /* owned: libzmq socket that ends such connections; NULL at first */
    void *ender;
    struct gw_context *next; /* list of the process's contexts */
    unsigned generation;
    int done_fd; /* eventfd, readable once zmq_ctx_term has returned */
    gw_threads_t threads;
    bool started; /* libzmq starts its threads with the first socket */
} gw_context_t;

extern atomic_uint gw_generation; /* incremented in every forked child */

gw_context_t *gw_context_create(void); /* NULL with errno set */
void gw_context_retain(gw_context_t *context);
void gw_context_release(gw_context_t *context); /* of its memory */
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
