/* A socket's options. The table is generated (api/options.yml). Every function needs the GVL. */
#include "socket.h"
#include "option_table.h"
#include <stdlib.h>

typedef union {
    int i;
    int64_t i64;
    uint64_t u64;
} number_t;

static int options_compare(const void *key, const void *entry) {
    return *(const int *)key - ((const gw_option_t *)entry)->id;
}

static const gw_option_t *options_find_option(int id) {
    const gw_option_t *option = bsearch(
            &id, gw_socket_options, GW_SOCKET_OPTIONS_COUNT, sizeof(gw_option_t), options_compare);
    if (!option) rb_raise(rb_eArgError, "no socket option has the number %d", id);
    return option;
}

static VALUE options_get_bytes(VALUE self, gw_socket_t *socket, const gw_option_t *option) {
    char buffer[4096]; /* more than any option of libzmq returns */
    size_t size = option->max && option->max < sizeof buffer ? option->max : sizeof buffer;
    int error = gw_socket_get(socket, option->id, buffer, &size);
    if (error) gw_raise(error, "get", self, Qnil);
    if (option->id == ZMQ_LAST_ENDPOINT) return rb_str_new_cstr(gw_inproc_name(buffer));
    if (option->kind == GW_OPT_STRING && size > 0 && buffer[size - 1] == '\0') size--;
    return rb_str_new(buffer, size);
}

/* A PUB never is readable: its messages are subscriptions. */
static VALUE options_get_events(VALUE self, gw_socket_t *socket) {
    int events = gw_socket_events(socket);
    if (events < 0) gw_raise(errno, "get", self, Qnil);
    return INT2NUM(socket->publisher ? events & ~ZMQ_POLLIN : events);
}

static VALUE options_get(VALUE self, VALUE id) {
    gw_socket_t *socket = gw_socket_open(self, "get");
    const gw_option_t *option = options_find_option(NUM2INT(id));
    number_t value = {.u64 = 0};
    if (option->id == ZMQ_RCVTIMEO) return LL2NUM(socket->receive_timeout);
    if (option->id == ZMQ_SNDTIMEO) return LL2NUM(socket->send_timeout);
    if (option->id == ZMQ_TYPE && socket->publisher) return INT2FIX(ZMQ_PUB);
    if (option->id == ZMQ_TYPE && socket->type == ZMQ_REP) return INT2FIX(ZMQ_REP);
    if (option->id == ZMQ_EVENTS) return options_get_events(self, socket);
    if (option->kind == GW_OPT_BYTES || option->kind == GW_OPT_STRING)
        return options_get_bytes(self, socket, option);
    size_t size = option->kind == GW_OPT_INT ? sizeof value.i : sizeof value.u64;
    int error = gw_socket_get(socket, option->id, &value, &size);
    if (error) gw_raise(error, "get", self, Qnil);
    switch (option->kind) {
    case GW_OPT_INT: return INT2NUM(value.i);
    case GW_OPT_INT64: return LL2NUM(value.i64);
    default: return ULL2NUM(value.u64);
    }
}

static VALUE options_set(VALUE self, VALUE id, VALUE value) {
    gw_socket_t *socket = gw_socket_open(self, "set");
    const gw_option_t *option = options_find_option(NUM2INT(id));
    number_t number;
    const void *data = &number;
    size_t size = sizeof number.u64;
    if (option->kind == GW_OPT_BYTES || option->kind == GW_OPT_STRING) {
        data = NIL_P(value) ? NULL : RSTRING_PTR(StringValue(value));
        size = NIL_P(value) ? 0 : (size_t)RSTRING_LEN(value);
    } else if (option->kind == GW_OPT_INT) {
        number.i = NUM2INT(value);
        size = sizeof number.i;
    } else if (option->kind == GW_OPT_INT64) {
        number.i64 = NUM2LL(value);
    } else {
        number.u64 = NUM2ULL(value);
    }
    /* libzmq would change pipes that its own thread may be ending. It refuses a negative mark. */
    bool mark = option->id == ZMQ_SNDHWM || option->id == ZMQ_RCVHWM;
    if (mark && socket->attached && number.i >= 0) gw_raise_named("StateError", "set", self);
    int error = gw_socket_set(socket, option->id, data, size);
    RB_GC_GUARD(value);
    if (error) gw_raise(error, "set", self, Qnil);
    if (option->id == ZMQ_RCVTIMEO) socket->receive_timeout = number.i;
    if (option->id == ZMQ_SNDTIMEO) socket->send_timeout = number.i;
    if (option->id == ZMQ_CONFLATE) socket->form = number.i ? GW_FORM_SINGLE : GW_FORM_ANY;
    if (option->id == ZMQ_REQ_RELAXED) socket->relaxed = number.i != 0;
    if (option->id == ZMQ_REQ_CORRELATE) socket->correlate = number.i != 0;
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
    VALUE class = rb_const_get(gw_mGodwit, rb_intern("Socket"));
    rb_define_private_method(class, "_get_option", options_get, 1);
    rb_define_private_method(class, "_set_option", options_set, 2);
    rb_define_private_method(class, "_encoding", options_encoding, 0);
    rb_define_private_method(class, "_set_encoding", options_set_encoding, 1);
    rb_define_private_method(class, "_copy_threshold", options_copy_threshold, 0);
    rb_define_private_method(class, "_set_copy_threshold", options_set_copy_threshold, 1);
}
