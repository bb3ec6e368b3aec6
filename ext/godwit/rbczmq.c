/* Fast calls for programs written for the gem rbczmq, whose sockets belong to one thread: in Ruby,
 * the check of the thread takes a third of the time of a small message (ADR 18). Needs the GVL. */
#include "proxy.h"

static gw_socket_t *rbczmq_socket(VALUE self, VALUE owner, gw_form_t last) {
    gw_socket_t *socket = gw_fast_socket(self, last);
    return RB_LIKELY(owner == rb_thread_current()) ? socket : NULL;
}

/* _send_on_owner_thread(owner, message) => true; false: the send would block; nil: this thread is
 * not the owner, the message is no String, or the socket needs the slow path */
static VALUE rbczmq_send(VALUE self, VALUE owner, VALUE message) {
    gw_socket_t *socket = rbczmq_socket(self, owner, GW_FORM_SINGLE);
    if (RB_UNLIKELY(!socket || !RB_TYPE_P(message, T_STRING))) return Qnil;
    int error = gw_send_string(socket, message);
    if (RB_LIKELY(!error)) return Qtrue;
    if (error != EAGAIN) gw_raise(error, "send", self, Qnil);
    return Qfalse;
}

/* _recv_on_owner_thread(owner, rest) => the first frame as a String, with the other frames in
 * `rest`; false: the receive would block; nil: as in _send_on_owner_thread, or `rest` has frames */
static VALUE rbczmq_recv(VALUE self, VALUE owner, VALUE rest) {
    gw_call_t call = {.self = self, .operation = "recv"};
    call.socket = rbczmq_socket(self, owner, GW_FORM_NAMED);
    if (RB_UNLIKELY(!call.socket || !RB_TYPE_P(rest, T_ARRAY) || RARRAY_LEN(rest) != 0))
        return Qnil;
    VALUE message = gw_recv_try(&call);
    if (RB_LIKELY(RB_TYPE_P(message, T_STRING))) return message;
    if (message == Qundef) return Qfalse;
    VALUE first = rb_ary_shift(message);
    rb_ary_concat(rest, message);
    return first;
}

void gw_init_rbczmq(VALUE native) {
    VALUE module = rb_define_module_under(native, "OwnerThread");
    rb_define_method(module, "_send_on_owner_thread", rbczmq_send, 2);
    rb_define_method(module, "_recv_on_owner_thread", rbczmq_recv, 2);
}
