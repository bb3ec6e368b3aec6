/* Binding and connecting a socket. */
#include "gem.h"

static int64_t endpoints_do_bind(gw_socket_t *socket, const char *endpoint) {
    return gw_endpoint_bind(gw_inproc_end(socket), endpoint);
}

static int64_t endpoints_do_connect(gw_socket_t *socket, const char *endpoint) {
    return gw_endpoint_connect(gw_inproc_end(socket), endpoint, gw_zmq_connect);
}

static int64_t endpoints_do_unbind(gw_socket_t *socket, const char *endpoint) {
    return zmq_unbind(socket->zmq, endpoint);
}

static int64_t endpoints_do_disconnect(gw_socket_t *socket, const char *endpoint) {
    return gw_endpoint_disconnect(gw_inproc_end(socket), &socket->buffered, endpoint);
}

/* Calls the function with the endpoint; raises for -1. */
static gw_socket_t *endpoints_call(mrb_state *mrb, mrb_value self, const char *operation,
        int64_t (*function)(gw_socket_t *, const char *), mrb_value *endpoint) {
    gw_socket_t *socket = gw_socket_open(mrb, self, operation);
    const char *name;
    mrb_get_args(mrb, "S", endpoint);
    name = mrb_string_value_cstr(mrb, endpoint);
    int error = gw_descriptors(GW_LOOKUP_DESCRIPTORS);
    if (!error && function(socket, name) < 0) error = errno;
    if (error) gw_raise(mrb, error, operation, self, *endpoint);
    socket->attached = true;
    return socket;
}

/* _bind(endpoint) => the endpoint that was bound, with wildcards replaced */
static mrb_value endpoints_bind(mrb_state *mrb, mrb_value self) {
    char bound[1024];
    size_t size = sizeof bound;
    mrb_value endpoint;
    gw_socket_t *socket = endpoints_call(mrb, self, "bind", endpoints_do_bind, &endpoint);
    if (gw_zmq_get(socket->zmq, ZMQ_LAST_ENDPOINT, bound, &size) || size < 2) return endpoint;
    /* libzmq does not report an endpoint of udp, and unbinds it by the given name. */
    if (!strstr(bound, "://")) return endpoint;
    return mrb_str_new(mrb, bound, size - 1);
}

static mrb_value endpoints_connect(mrb_state *mrb, mrb_value self) {
    mrb_value endpoint;
    endpoints_call(mrb, self, "connect", endpoints_do_connect, &endpoint);
    return mrb_nil_value();
}

static mrb_value endpoints_unbind(mrb_state *mrb, mrb_value self) {
    mrb_value endpoint;
    endpoints_call(mrb, self, "unbind", endpoints_do_unbind, &endpoint);
    return mrb_nil_value();
}

static mrb_value endpoints_disconnect(mrb_state *mrb, mrb_value self) {
    mrb_value endpoint;
    endpoints_call(mrb, self, "disconnect", endpoints_do_disconnect, &endpoint);
    return mrb_nil_value();
}

void gw_init_endpoints(mrb_state *mrb, struct RClass *socket) {
    mrb_define_method(mrb, socket, "_bind", endpoints_bind, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, socket, "_connect", endpoints_connect, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, socket, "_unbind", endpoints_unbind, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, socket, "_disconnect", endpoints_disconnect, MRB_ARGS_REQ(1));
}
