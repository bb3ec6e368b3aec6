/* A socket's options. */
#include "gem.h"
#include <mruby/hash.h>

/* As in Godwit::Options::Wire::KINDS. */
typedef enum { INT, INT64, UINT64, BYTES, STRING } kind_t;

typedef union {
    int i;
    int64_t i64;
} number_t;

/* `max`: bytes of the longest value; 0: unknown */
static kind_t options_kind(mrb_state *mrb, mrb_int id, size_t *max) {
    struct RClass *module = mrb_module_get_under(
            mrb, mrb_module_get_under(mrb, mrb_module_get(mrb, "Godwit"), "Options"), "Wire");
    mrb_value table = mrb_const_get(mrb, mrb_obj_value(module), mrb_intern_lit(mrb, "TABLE"));
    mrb_value row = mrb_hash_get(mrb, table, mrb_fixnum_value(id));
    if (mrb_nil_p(row)) mrb_raisef(mrb, E_ARGUMENT_ERROR, "no socket option has the number %i", id);
    *max = mrb_integer(RARRAY_PTR(row)[1]);
    return mrb_integer(RARRAY_PTR(row)[0]);
}

static mrb_value options_get_bytes(
        mrb_state *mrb, mrb_value self, gw_socket_t *socket, mrb_int id, kind_t kind, size_t max) {
    char buffer[4096]; /* more than any option of libzmq returns */
    size_t size = max && max < sizeof buffer ? max : sizeof buffer;
    int error = gw_zmq_get(socket->zmq, id, buffer, &size);
    if (error) gw_raise(mrb, error, "get", self, mrb_nil_value());
    if (id == ZMQ_LAST_ENDPOINT) return mrb_str_new_cstr(mrb, gw_inproc_name(buffer));
    if (kind == STRING && size > 0 && buffer[size - 1] == '\0') size--;
    return mrb_str_new(mrb, buffer, size);
}

static mrb_value options_get(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_open(mrb, self, "get");
    mrb_int id;
    mrb_get_args(mrb, "i", &id);
    size_t max;
    kind_t kind = options_kind(mrb, id, &max);
    number_t value = {.i64 = 0};
    if (id == ZMQ_RCVTIMEO) return mrb_fixnum_value(socket->receive_timeout);
    if (id == ZMQ_SNDTIMEO) return mrb_fixnum_value(socket->send_timeout);
    if (id == ZMQ_TYPE) return mrb_fixnum_value(socket->type);
    if (id == ZMQ_EVENTS) {
        int events = gw_socket_events(socket);
        if (events < 0) gw_raise(mrb, errno, "get", self, mrb_nil_value());
        return mrb_fixnum_value(events);
    }
    if (kind >= BYTES) return options_get_bytes(mrb, self, socket, id, kind, max);
    size_t size = kind == INT ? sizeof value.i : sizeof value.i64;
    int error = gw_zmq_get(socket->zmq, id, &value, &size);
    if (error) gw_raise(mrb, error, "get", self, mrb_nil_value());
    return mrb_int_value(mrb, kind == INT ? value.i : value.i64);
}

static mrb_value options_set(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_open(mrb, self, "set");
    mrb_int id;
    mrb_value value;
    mrb_get_args(mrb, "io", &id, &value);
    size_t max;
    kind_t kind = options_kind(mrb, id, &max);
    number_t number = {.i64 = 0};
    const void *data = &number;
    size_t size = kind == INT ? sizeof number.i : sizeof number.i64;
    if (kind >= BYTES) {
        if (!mrb_nil_p(value)) mrb_ensure_string_type(mrb, value);
        data = mrb_nil_p(value) ? NULL : RSTRING_PTR(value);
        size = mrb_nil_p(value) ? 0 : RSTRING_LEN(value);
    } else {
        mrb_int integer = mrb_integer(mrb_ensure_int_type(mrb, value));
        if (kind == INT) number.i = integer;
        else number.i64 = integer;
    }
    /* libzmq would change pipes that its own thread may be ending. It refuses a negative mark. */
    bool mark = id == ZMQ_SNDHWM || id == ZMQ_RCVHWM;
    if (mark && socket->attached && number.i >= 0) gw_raise_named(mrb, "StateError", "set", self);
    int error = gw_zmq_set(socket->zmq, id, data, size);
    if (error) gw_raise(mrb, error, "set", self, mrb_nil_value());
    if (id == ZMQ_RCVTIMEO) socket->receive_timeout = number.i;
    if (id == ZMQ_SNDTIMEO) socket->send_timeout = number.i;
    if (id == ZMQ_CONFLATE) socket->conflates = number.i != 0;
    return mrb_nil_value();
}

/* _timeout(1: receive, 2: send) => ms, -1: for ever */
static mrb_value options_timeout(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_check(mrb, self, "get");
    mrb_int event;
    mrb_get_args(mrb, "i", &event);
    return mrb_fixnum_value(event == ZMQ_POLLIN ? socket->receive_timeout : socket->send_timeout);
}

void gw_init_options(mrb_state *mrb, struct RClass *socket) {
    mrb_define_method(mrb, socket, "_get_option", options_get, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, socket, "_set_option", options_set, MRB_ARGS_REQ(2));
    mrb_define_method(mrb, socket, "_timeout", options_timeout, MRB_ARGS_REQ(1));
}
