/* Layer 4: frames, Strings that libzmq sends in place, and wait_connected. */
#ifndef GODWIT_FRAME_H
#define GODWIT_FRAME_H

#include "socket.h"

/* ---- pin.c ---- */

typedef struct gw_pin gw_pin_t;
typedef struct gw_tracker gw_tracker_t;

bool gw_can_pin(VALUE string);
int gw_pin_message(zmq_msg_t *message, VALUE string, gw_pin_t **made);
void gw_pin_retain(gw_pin_t *pin);
void gw_pin_release(gw_pin_t *pin);
int gw_pin_watch(gw_pin_t *pin, gw_tracker_t *tracker);
gw_tracker_t *gw_tracker_get(VALUE self);
void gw_init_pin(void);

/* ---- frame.c ---- */

bool gw_is_frame(VALUE object);
VALUE gw_frame_adopt(zmq_msg_t *message, rb_encoding *encoding);
bool gw_frame_sendable(VALUE self);
void gw_frame_check(VALUE self, const char *operation); /* raises unless the frame is sendable */
int gw_frame_share(VALUE self, zmq_msg_t *message);
void gw_frame_sent(VALUE self);
size_t gw_frame_bytes(VALUE self);
int gw_frame_watch(VALUE self, gw_tracker_t *tracker);
void gw_init_frame(void);

/* ---- connected.c ---- */

int gw_drain_subscriptions(gw_socket_t *socket); /* returns an errno; EAGAIN: no message remains */
void gw_init_connected(void);

#endif
