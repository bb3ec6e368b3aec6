/* Binding and connecting a socket. Every function needs the GVL. */
#include "socket.h"

static int64_t endpoints_do_bind(gw_socket_t *socket, const char *endpoint) {
    return gw_endpoint_bind(gw_inproc_end(socket, socket->zmq), endpoint);
}

static int endpoints_prepare(gw_socket_t *socket, const char *endpoint) {
    int error = gw_descriptors(GW_LOOKUP_DESCRIPTORS + (socket->counting ? 2 : 0));
    return error ? error : gw_monitor_count_peers(socket, endpoint);
}

int64_t gw_socket_endpoint(VALUE self, VALUE endpoint, const char *operation,
        int64_t (*function)(gw_socket_t *, const char *)) {
    gw_socket_t *socket = gw_socket_open(self, operation);
    const char *name = StringValueCStr(endpoint);
    int error = endpoints_prepare(socket, name);
    int64_t result = 0;
    if (!error && (result = function(socket, name)) < 0) error = errno;
    if (error && function == endpoints_do_bind) gw_monitor_bind_failed(socket, name, error);
    else gw_monitor_drain_when_due(socket);
    if (!error) socket->attached = true;
    socket->diagnosed = false;
    if (!error && strncmp(name, "udp:", 4) == 0) socket->udp = true;
    gw_settle(socket, error);
    gw_wake_all(socket); /* libzmq adds or removes pipes at once, without an edge of ZMQ_FD */
    if (error) gw_raise(error, operation, self, endpoint);
    return result;
}

/* _bind(endpoint) => the endpoint that was bound, with wildcards replaced */
static VALUE endpoints_bind(VALUE self, VALUE endpoint) {
    char bound[1024];
    size_t size = sizeof bound;
    gw_socket_endpoint(self, endpoint, "bind", endpoints_do_bind);
    gw_socket_t *socket = gw_socket_open(self, "bind");
    if (gw_socket_get(socket, ZMQ_LAST_ENDPOINT, bound, &size) || size < 2) return endpoint;
    /* libzmq reports no endpoint for udp; unbind accepts the endpoint that was given to bind. */
    if (!strstr(bound, "://")) return endpoint;
    gw_unsent_attached(socket, bound);
    return rb_utf8_str_new(bound, size - 1);
}

static int64_t endpoints_do_connect(gw_socket_t *socket, const char *endpoint) {
    return gw_endpoint_connect(gw_inproc_end(socket, socket->zmq), endpoint, gw_zmq_connect);
}

static int64_t endpoints_do_unbind(gw_socket_t *socket, const char *endpoint) {
    return zmq_unbind(socket->zmq, endpoint);
}

static int64_t endpoints_do_disconnect(gw_socket_t *socket, const char *endpoint) {
    return gw_endpoint_disconnect(gw_inproc_end(socket, socket->zmq), &socket->buffered, endpoint);
}

static VALUE endpoints_connect(VALUE self, VALUE endpoint) {
    gw_socket_endpoint(self, endpoint, "connect", endpoints_do_connect);
    gw_unsent_attached(gw_socket_open(self, "connect"), StringValueCStr(endpoint));
    return Qnil;
}

static VALUE endpoints_unbind(VALUE self, VALUE endpoint) {
    gw_socket_endpoint(self, endpoint, "unbind", endpoints_do_unbind);
    return Qnil;
}

static VALUE endpoints_disconnect(VALUE self, VALUE endpoint) {
    gw_socket_endpoint(self, endpoint, "disconnect", endpoints_do_disconnect);
    return Qnil;
}

void gw_init_endpoints(void) {
    rb_define_private_method(gw_cSocket, "_bind", endpoints_bind, 1);
    rb_define_private_method(gw_cSocket, "_connect", endpoints_connect, 1);
    rb_define_private_method(gw_cSocket, "_unbind", endpoints_unbind, 1);
    rb_define_private_method(gw_cSocket, "_disconnect", endpoints_disconnect, 1);
}
