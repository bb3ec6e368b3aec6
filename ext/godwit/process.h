/* Layer 1: errors, libzmq's draft functions, numbers of Ractors. Each header includes the header of
 * the layer below; `rake lint:layers` checks that no function calls a higher layer. */
#ifndef GODWIT_PROCESS_H
#define GODWIT_PROCESS_H

#include <ruby/ruby.h>
#include <ruby/encoding.h>
#include "core.h"

#ifndef RBOOL /* Ruby 3.1 does not export RBOOL */
#define RBOOL(value) ((value) ? Qtrue : Qfalse)
#endif

/* ---- error.c ---- */

extern VALUE gw_mGodwit;

NORETURN(void gw_raise(int error, const char *operation, VALUE self, VALUE endpoint));
NORETURN(void gw_raise_named(const char *class, const char *operation, VALUE self));
#define gw_raise_closed(operation, self) gw_raise_named("ClosedError", operation, self)
#define gw_raise_forked(operation, self) gw_raise_named("ForkedError", operation, self)
#define gw_raise_busy(operation, self) gw_raise_named("BusyError", operation, self)
/* Raises for a message of the wrong type, without a frame, or of a form that the socket does not
 * send. */
NORETURN(void gw_raise_message(VALUE message, const char *operation, VALUE self));
/* Raises for more positional arguments than the method accepts. */
NORETURN(void gw_raise_arguments(int argc, const VALUE *argv, const char *operation));
/* Raises with a text that says what happened and what to do. The format is rb_sprintf's. */
NORETURN(void gw_raise_detail(const char *class, const char *operation, const char *format, ...));
int64_t gw_milliseconds(VALUE timeout, int64_t otherwise); /* returns `otherwise` for nil */
void gw_init_error(void);

/* ---- draft_symbols.c: libzmq's draft functions, found at run time ---- */

/* If `available` is false, the functions before connect_peer may be NULL. */
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
    /* Each of the functions below is NULL if this libzmq lacks it. */
    uint32_t (*connect_peer)(void *, const char *);
    int (*ctx_set_ext)(void *, int, const void *, size_t);
    int (*socket_monitor_versioned)(void *, const char *, uint64_t, int, int);
    int (*socket_monitor_pipes_stats)(void *);
} gw_draft_t;

extern gw_draft_t gw_draft; /* written once, when the extension loads */

void gw_init_draft_symbols(VALUE native);

/* ---- ractor.c ---- */

uint64_t gw_ractor(void); /* number of the current Ractor */
void gw_init_ractor(void);

#endif
