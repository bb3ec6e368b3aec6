/* The C half of mruby-godwit: primitives that never wait (lib/backend.rb has the loops). A VM
 * belongs to one thread, so its sockets need no lock. core.h has what the extension shares. */
#ifndef GODWIT_GEM_H
#define GODWIT_GEM_H

#include "core.h"
#include <mruby.h>
#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/string.h>
#include <mruby/variable.h>

/* ---- error.c: the one place that raises ---- */

mrb_noreturn void gw_raise(
        mrb_state *mrb, int error, const char *operation, mrb_value self, mrb_value endpoint);
mrb_noreturn void gw_raise_named(
        mrb_state *mrb, const char *class, const char *operation, mrb_value self);
mrb_noreturn void gw_raise_message(
        mrb_state *mrb, mrb_value message, const char *operation, mrb_value self);
mrb_noreturn void gw_raise_detail(
        mrb_state *mrb, const char *class, const char *operation, const char *detail);
void gw_init_error(mrb_state *mrb, struct RClass *godwit, struct RClass *backend);

/* Used by the thread of its VM alone; the context's lock guards the link. */
typedef struct gw_socket {
    gw_link_t link;        /* of context->sockets; first, see gw_link_t */
    void *zmq;             /* owned; NULL once it is closed */
    gw_context_t *context; /* retained */
    mrb_state *vm;         /* borrowed: the VM that made it */
    zmq_msg_t first;       /* owned, always initialised: first frame of a message */
    gw_frames_t rest;      /* the other frames of that message */
    gw_buffered_t buffered;
    mrb_int receive_timeout, send_timeout; /* ms; libzmq never gets a blocking call */
    unsigned generation;
    int type, fd;
    bool stored;    /* `first` and `rest` are a message that the VM has not received yet */
    bool attached;  /* it has or had an endpoint: its high-water marks are fixed */
    bool drained;   /* the last call found no message: libzmq's mailbox was empty then */
    bool sent;      /* it has sent a message */
    bool cut;       /* REQ: its peer vanished in the middle of a request */
    bool conflates; /* its messages have one frame */
} gw_socket_t;

static inline bool gw_socket_forked(const gw_socket_t *socket) {
    return gw_forked(socket->generation);
}

static inline gw_inproc_end_t gw_inproc_end(const gw_socket_t *socket) {
    return (gw_inproc_end_t){socket->context, socket, socket->zmq, socket->type};
}

/* ---- closing.c ---- */

void gw_socket_drop_frames(gw_socket_t *socket); /* that it has received */
void gw_socket_release(gw_socket_t *socket);

/* ---- context.c ---- */

gw_context_t *gw_context_open(mrb_state *mrb, mrb_value self, const char *operation);
void gw_close_contexts(mrb_state *mrb); /* all that this VM has open */
void gw_init_context(mrb_state *mrb, struct RClass *godwit);

/* ---- socket.c ---- */

extern const mrb_data_type gw_socket_type;

gw_socket_t *gw_socket_open(mrb_state *mrb, mrb_value self, const char *operation);
/* As gw_socket_open, for a caller that makes no call of libzmq: `drained` stays. */
gw_socket_t *gw_socket_check(mrb_state *mrb, mrb_value self, const char *operation);
int gw_socket_events(gw_socket_t *socket); /* -1 with errno set */
void gw_close_sockets(mrb_state *mrb);     /* all that this VM has open */
struct RClass *gw_init_socket(mrb_state *mrb, struct RClass *godwit);

/* ---- endpoints.c, options.c, send.c, recv.c, poll.c ---- */

void gw_init_endpoints(mrb_state *mrb, struct RClass *socket);
void gw_init_options(mrb_state *mrb, struct RClass *socket);
void gw_init_send(mrb_state *mrb, struct RClass *socket);
void gw_init_recv(mrb_state *mrb, struct RClass *socket);
void gw_init_poll(mrb_state *mrb, struct RClass *socket, struct RClass *backend);

/* ---- gem.c ---- */

void mrb_mruby_godwit_gem_init(mrb_state *mrb);
void mrb_mruby_godwit_gem_final(mrb_state *mrb);

#endif
