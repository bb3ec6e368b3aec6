/* Layer 5: functions that send and receive whole messages. */
#ifndef GODWIT_MESSAGE_H
#define GODWIT_MESSAGE_H

#include "frame.h"

/* Returns the socket if a call may send or receive on it at once. NULL: the caller must use the
 * slow path, for instance because the socket's form comes after `last` in gw_form_t. */
static inline gw_socket_t *gw_fast_socket(VALUE self, gw_form_t last) {
    if (RB_UNLIKELY(!RB_TYPE_P(self, T_DATA) || !RTYPEDDATA_P(self))) return NULL;
    if (RB_UNLIKELY(RTYPEDDATA_TYPE(self) != &gw_socket_type)) return NULL;
    gw_socket_t *socket = RTYPEDDATA_DATA(self);
    if (RB_UNLIKELY(socket->state != GW_OPEN || gw_socket_forked(socket) ||
                socket->calls_since_yield + 1 >= GW_YIELD_EVERY || socket->publisher ||
                socket->form > last || socket->peers || socket->repair ||
                socket->stale_reply_pipe || socket->diagnosing))
        return NULL;
    socket->calls_since_yield++;
    return socket;
}

/* Begins a send or receive of the slow path: lets other fibers run, ends the count of peers, and
 * ends the diagnosis of an earlier slow wait unless that wait timed out. */
static inline void gw_begin(gw_call_t *call) {
    gw_yield_fiber(call);
    if (RB_UNLIKELY(call->socket->peers != NULL)) gw_monitor_stop_counting(call->socket);
    if (RB_UNLIKELY(call->socket->diagnosing)) gw_stop_diagnosis(call);
}

static inline void gw_set_deadline(gw_call_t *call, VALUE timeout, int64_t otherwise) {
    gw_call_set_deadline(call, gw_milliseconds(timeout, otherwise));
}

/* ---- counts.c ---- */

extern bool gw_counts_stamps; /* whether sockets record the time of each message */
void gw_counts_stamp(gw_socket_t *socket);

/* These two functions count one whole message. */
static inline void gw_count_sent(gw_socket_t *socket, size_t bytes) {
    socket->counts.sent++;
    socket->counts.sent_bytes += bytes;
    if (RB_UNLIKELY(gw_counts_stamps)) gw_counts_stamp(socket);
}

static inline void gw_count_received(gw_socket_t *socket, size_t bytes) {
    socket->counts.received++;
    socket->counts.received_bytes += bytes;
    if (RB_UNLIKELY(gw_counts_stamps)) gw_counts_stamp(socket);
}

void gw_init_counts(VALUE native);

/* ---- send.c, recv.c ---- */

/* Makes a message of a String or a Frame. Returns an errno. */
int gw_outgoing_message(
        const gw_socket_t *socket, VALUE frame, zmq_msg_t *message, gw_tracker_t *tracker);
size_t gw_outgoing_size(VALUE frame);
void gw_outgoing_sent(VALUE frame);
int gw_send_string(gw_socket_t *socket, VALUE string); /* returns an errno */
/* Returns a String, an Array of Strings, or Qundef when the call would block. */
VALUE gw_recv_try(gw_call_t *call);
void gw_init_send(VALUE takeover);
void gw_init_recv(VALUE takeover);

#endif
