/* Layer 3: the libzmq calls of a socket, contexts, sockets, endpoints and options. */
#ifndef GODWIT_SOCKET_H
#define GODWIT_SOCKET_H

#include "wait.h"

/* ---- transfer.c: every libzmq call that can consume an edge of ZMQ_FD (law 2) ----
 * These functions need the GVL and wake the waiters that the call may concern. The proxy's loop
 * calls them without the GVL; then they wake no waiter, since no thread waits on its sockets. */

int gw_settle(gw_socket_t *socket, int error); /* call this after a libzmq call; returns `error` */
void gw_settle_message(gw_socket_t *socket);   /* call this after a whole message */

/* Receives one frame. Returns an errno. */
static inline int gw_receive_frame(gw_socket_t *socket, zmq_msg_t *message) {
    int error = RB_UNLIKELY(socket->buffered.indirect)
            ? gw_buffered_receive(&socket->buffered, socket->zmq, socket->type, message)
            : gw_zmq_receive(socket->zmq, message);
    if (RB_UNLIKELY(error)) return gw_settle(socket, error);
    if (RB_LIKELY(!socket->queue.first && !socket->watches)) return 0;
    if (!zmq_msg_more(message)) gw_settle_message(socket);
    return 0;
}

/* Sends one frame. Returns an errno. After an error the caller still owns the message. */
static inline int gw_send_frame(gw_socket_t *socket, zmq_msg_t *message, int flags) {
    int error = RB_UNLIKELY(socket->buffered.indirect)
            ? gw_buffered_send(&socket->buffered, socket->zmq, socket->type, message, flags)
            : gw_zmq_send(socket->zmq, message, flags);
    if (RB_UNLIKELY(error)) return gw_settle(socket, error);
    if (RB_LIKELY(!socket->queue.first && !socket->watches)) return 0;
    if (!(flags & ZMQ_SNDMORE)) gw_settle_message(socket);
    return 0;
}

int gw_socket_events(gw_socket_t *socket); /* events that the user sees; -1 with errno set */
/* The next two functions return an errno. */
int gw_socket_get(gw_socket_t *socket, int option, void *value, size_t *size);
int gw_socket_set(gw_socket_t *socket, int option, const void *value, size_t size);
/* Sends `count` empty frames to end a message that libzmq drops. */
void gw_send_rest(gw_socket_t *socket, long count);
/* Runs the body, which sends or receives without a wait, and then wakes the waiters once. */
VALUE gw_batch(gw_socket_t *socket, VALUE (*body)(VALUE), VALUE argument);

/* ---- draft_open.c: the descriptor and the message form of a new socket ---- */

int gw_draft_open(gw_socket_t *socket); /* returns an errno */
void gw_draft_close(gw_socket_t *socket);

/* ---- unsent.c: the line about unsent messages at exit ---- */

void gw_unsent_attached(gw_socket_t *socket, const char *endpoint);
void gw_unsent_closed(gw_socket_t *socket); /* call this before zmq_close */
void gw_unsent_forget(gw_socket_t *socket); /* frees the stored names of endpoints */
void gw_init_unsent(VALUE native);

/* ---- closing.c ---- */

/* Describes the socket for inproc.c. `zmq` is its libzmq socket; in _reopen the former one. */
static inline gw_inproc_end_t gw_inproc_end(const gw_socket_t *socket, void *zmq) {
    return (gw_inproc_end_t){socket->context, socket, zmq, socket->type};
}
void gw_socket_close(gw_socket_t *socket);        /* wakes the socket's waiters */
void gw_socket_release_idle(gw_socket_t *socket); /* releases a closing socket without waiters */
void gw_socket_release(gw_socket_t *socket);      /* calls zmq_close; no waiters may remain */

/* ---- context.c ---- */

gw_context_t *gw_context_open(VALUE self, const char *operation); /* raises if closed or forked */
void gw_init_context(void);

/* ---- socket.c ---- */

extern const rb_data_type_t gw_socket_type;
extern VALUE gw_cSocket; /* Godwit::Socket */

/* Raises unless the socket is open, belongs to this process and is in no proxy. */
gw_socket_t *gw_socket_open(VALUE self, const char *operation);
gw_call_t gw_call(VALUE self, const char *operation, int64_t milliseconds);
void gw_stop_diagnosis(gw_call_t *call); /* call this after a successful wait; runs Ruby code */
void gw_yield_fiber(gw_call_t *call);    /* lets other fibers run every GW_YIELD_EVERY messages */
void gw_init_socket(void);

/* ---- endpoints.c, options.c ---- */

/* Calls the function with the endpoint, a String; raises if the function returns -1. */
int64_t gw_socket_endpoint(VALUE self, VALUE endpoint, const char *operation,
        int64_t (*function)(gw_socket_t *, const char *));
void gw_init_endpoints(void);
void gw_init_options(void);

#endif
