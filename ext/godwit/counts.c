/* The counters of what a socket has sent and received. */
#include "message.h"

/* Whether sockets record the time of each message: only after a program has read the counts, since
 * the clock is slower than the counters. Several Ractors may set this variable concurrently. */
bool gw_counts_stamps;

void gw_counts_stamp(gw_socket_t *socket) { socket->counts.last = time(NULL); }

/* _counters => messages and bytes sent, messages and bytes received, time of the last message in
 * seconds since 1970 or nil. A closed socket has its counters too. Needs the GVL. */
static VALUE counts_read(VALUE self) {
    const gw_socket_t *socket = rb_check_typeddata(self, &gw_socket_type);
    if (socket->state != GW_NEW && gw_socket_forked(socket)) gw_raise_forked("stats", self);
    const gw_counts_t *counts = &socket->counts;
    gw_counts_stamps = true;
    return rb_ary_new_from_args(5, ULL2NUM(counts->sent), ULL2NUM(counts->sent_bytes),
            ULL2NUM(counts->received), ULL2NUM(counts->received_bytes),
            counts->last ? LL2NUM(counts->last) : Qnil);
}

static VALUE counts_start_stamping(VALUE self) {
    gw_counts_stamps = true;
    return Qnil;
}

void gw_init_counts(VALUE native) {
    rb_define_private_method(gw_cSocket, "_counters", counts_read, 0);
    rb_define_module_function(native, "stamp_messages", counts_start_stamping, 0);
}
