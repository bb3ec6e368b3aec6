/* A socket's options. The table is generated (api/options.yml). */
#include "gem.h"
#include "option_table.h"
#include <stdlib.h>

typedef union {
    int i;
    int64_t i64;
} number_t;

static int options_compare(const void *key, const void *entry) {
    return *(const int *)key - ((const gw_option_t *)entry)->id;
}

static const gw_option_t *options_find_option(mrb_state *mrb, mrb_int number) {
    int id = number;
    const gw_option_t *option = bsearch(
            &id, gw_socket_options, GW_SOCKET_OPTIONS_COUNT, sizeof(gw_option_t), options_compare);
    if (!option) mrb_raisef(mrb, E_ARGUMENT_ERROR, "no socket option has the number %i", number);
    return option;
}

static bool options_is_string(const gw_option_t *option) {
    return option->kind == GW_OPT_BYTES || option->kind == GW_OPT_STRING;
}

static mrb_value options_get_bytes(
        mrb_state *mrb, mrb_value self, gw_socket_t *socket, const gw_option_t *option) {
    char buffer[4096]; /* more than any option of libzmq returns */
    size_t size = option->max && option->max < sizeof buffer ? option->max : sizeof buffer;
    int error = gw_zmq_get(socket->zmq, option->id, buffer, &size);
    if (error) gw_raise(mrb, error, "get", self, mrb_nil_value());
    if (option->id == ZMQ_LAST_ENDPOINT) return mrb_str_new_cstr(mrb, gw_inproc_name(buffer));
    if (option->kind == GW_OPT_STRING && size > 0 && buffer[size - 1] == '\0') size--;
    return mrb_str_new(mrb, buffer, size);
}

static mrb_value options_get(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_open(mrb, self, "get");
    mrb_int id;
    mrb_get_args(mrb, "i", &id);
    const gw_option_t *option = options_find_option(mrb, id);
    number_t value = {.i64 = 0};
    if (id == ZMQ_RCVTIMEO) return mrb_fixnum_value(socket->receive_timeout);
    if (id == ZMQ_SNDTIMEO) return mrb_fixnum_value(socket->send_timeout);
    if (id == ZMQ_TYPE) return mrb_fixnum_value(socket->type);
    if (id == ZMQ_EVENTS) {
        int events = gw_socket_events(socket);
        if (events < 0) gw_raise(mrb, errno, "get", self, mrb_nil_value());
        return mrb_fixnum_value(events);
    }
    if (options_is_string(option)) return options_get_bytes(mrb, self, socket, option);
    size_t size = option->kind == GW_OPT_INT ? sizeof value.i : sizeof value.i64;
    int error = gw_zmq_get(socket->zmq, id, &value, &size);
    if (error) gw_raise(mrb, error, "get", self, mrb_nil_value());
    return mrb_int_value(mrb, option->kind == GW_OPT_INT ? value.i : value.i64);
}

static mrb_value options_set(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_open(mrb, self, "set");
    mrb_int id;
    mrb_value value;
    mrb_get_args(mrb, "io", &id, &value);
    const gw_option_t *option = options_find_option(mrb, id);
    number_t number = {.i64 = 0};
    const void *data = &number;
    size_t size = option->kind == GW_OPT_INT ? sizeof number.i : sizeof number.i64;
    if (options_is_string(option)) {
        if (!mrb_nil_p(value)) mrb_ensure_string_type(mrb, value);
        data = mrb_nil_p(value) ? NULL : RSTRING_PTR(value);
        size = mrb_nil_p(value) ? 0 : RSTRING_LEN(value);
    } else {
        mrb_int integer = mrb_integer(mrb_ensure_int_type(mrb, value));
        if (option->kind == GW_OPT_INT) number.i = integer;
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
