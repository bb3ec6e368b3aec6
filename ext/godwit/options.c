/* A socket's options. Every function needs the GVL. */
#include "socket.h"

/* The kinds of values, in the order of Godwit::Options::Wire::KINDS. */
typedef enum { INT, INT64, UINT64, BYTES, STRING } kind_t;

typedef union {
    int i;
    int64_t i64;
    uint64_t u64;
} number_t;

static VALUE wire; /* Godwit::Options::Wire::TABLE */

/* Returns the kind of an option's value. Sets `max` to the longest value's bytes; 0: unknown. */
static kind_t options_kind(VALUE id, size_t *max) {
    VALUE row = rb_hash_lookup(wire, id);
    if (NIL_P(row)) rb_raise(rb_eArgError, "no socket option has the number %" PRIsVALUE, id);
    *max = NUM2SIZET(RARRAY_AREF(row, 1));
    return NUM2INT(RARRAY_AREF(row, 0));
}

static VALUE options_get_bytes(VALUE self, gw_socket_t *socket, int id, kind_t kind, size_t max) {
    char buffer[4096]; /* bytes, more than any option of libzmq returns */
    size_t size = max && max < sizeof buffer ? max : sizeof buffer;
    int error = gw_socket_get(socket, id, buffer, &size);
    if (error) gw_raise(error, "get", self, Qnil);
    if (id == ZMQ_LAST_ENDPOINT) return rb_str_new_cstr(gw_inproc_name(buffer));
    if (kind == STRING && size > 0 && buffer[size - 1] == '\0') size--;
    return rb_str_new(buffer, size);
}

/* A PUB is never readable: all messages that its XPUB receives are subscriptions. */
static VALUE options_get_events(VALUE self, gw_socket_t *socket) {
    int events = gw_socket_events(socket);
    if (events < 0) gw_raise(errno, "get", self, Qnil);
    return INT2NUM(socket->publisher ? events & ~ZMQ_POLLIN : events);
}

static VALUE options_get(VALUE self, VALUE number) {
    gw_socket_t *socket = gw_socket_open(self, "get");
    number_t value = {.u64 = 0};
    size_t max;
    int id = NUM2INT(number);
    kind_t kind = options_kind(number, &max);
    if (id == ZMQ_RCVTIMEO) return LL2NUM(socket->receive_timeout);
    if (id == ZMQ_SNDTIMEO) return LL2NUM(socket->send_timeout);
    if (id == ZMQ_TYPE && socket->publisher) return INT2FIX(ZMQ_PUB);
    if (id == ZMQ_TYPE && socket->type == ZMQ_REP) return INT2FIX(ZMQ_REP);
    if (id == ZMQ_EVENTS) return options_get_events(self, socket);
    if (kind >= BYTES) return options_get_bytes(self, socket, id, kind, max);
    size_t size = kind == INT ? sizeof value.i : sizeof value.u64;
    int error = gw_socket_get(socket, id, &value, &size);
    if (error) gw_raise(error, "get", self, Qnil);
    if (kind == INT) return INT2NUM(value.i);
    return kind == INT64 ? LL2NUM(value.i64) : ULL2NUM(value.u64);
}

static VALUE options_set(VALUE self, VALUE option, VALUE value) {
    gw_socket_t *socket = gw_socket_open(self, "set");
    number_t number;
    const void *data = &number;
    size_t max, size = sizeof number.u64;
    int id = NUM2INT(option);
    switch (options_kind(option, &max)) {
    case INT:
        number.i = NUM2INT(value);
        size = sizeof number.i;
        break;
    case INT64: number.i64 = NUM2LL(value); break;
    case UINT64: number.u64 = NUM2ULL(value); break;
    default:
        data = NIL_P(value) ? NULL : RSTRING_PTR(StringValue(value));
        size = NIL_P(value) ? 0 : (size_t)RSTRING_LEN(value);
    }
    /* Once the socket has pipes, libzmq would apply a new high-water mark to pipes that its I/O
     * thread may be ending. libzmq itself refuses a negative value. */
    bool mark = id == ZMQ_SNDHWM || id == ZMQ_RCVHWM;
    if (mark && socket->attached && number.i >= 0) gw_raise_named("StateError", "set", self);
    int error = gw_socket_set(socket, id, data, size);
    RB_GC_GUARD(value);
    if (error) gw_raise(error, "set", self, Qnil);
    if (id == ZMQ_RCVTIMEO) socket->receive_timeout = number.i;
    if (id == ZMQ_SNDTIMEO) socket->send_timeout = number.i;
    if (id == ZMQ_CONFLATE) socket->form = number.i ? GW_FORM_SINGLE : GW_FORM_ANY;
    if (id == ZMQ_REQ_RELAXED) socket->relaxed = number.i != 0;
    if (id == ZMQ_REQ_CORRELATE) socket->correlate = number.i != 0;
    return Qnil;
}

static VALUE options_set_encoding(VALUE self, VALUE encoding) {
    gw_socket_open(self, "encoding=")->encoding = rb_to_encoding(encoding);
    return encoding;
}

static VALUE options_encoding(VALUE self) {
    return rb_enc_from_encoding(gw_socket_open(self, "encoding")->encoding);
}

/* _copy_threshold => bytes; nil: no String is sent in place */
static VALUE options_copy_threshold(VALUE self) {
    size_t bytes = gw_socket_open(self, "copy_threshold")->copy_threshold;
    return bytes == SIZE_MAX ? Qnil : SIZET2NUM(bytes);
}

static VALUE options_set_copy_threshold(VALUE self, VALUE bytes) {
    size_t threshold = NIL_P(bytes) ? SIZE_MAX : NUM2SIZET(bytes);
    gw_socket_open(self, "copy_threshold=")->copy_threshold = threshold;
    return bytes;
}

void gw_init_options(void) {
    rb_gc_register_mark_object(wire = rb_path2class("Godwit::Options::Wire"));
    rb_gc_register_mark_object(wire = rb_const_get(wire, rb_intern("TABLE")));
    rb_define_private_method(gw_cSocket, "_get_option", options_get, 1);
    rb_define_private_method(gw_cSocket, "_set_option", options_set, 2);
    rb_define_private_method(gw_cSocket, "_encoding", options_encoding, 0);
    rb_define_private_method(gw_cSocket, "_set_encoding", options_set_encoding, 1);
    rb_define_private_method(gw_cSocket, "_copy_threshold", options_copy_threshold, 0);
    rb_define_private_method(gw_cSocket, "_set_copy_threshold", options_set_copy_threshold, 1);
}
