/* Godwit::Monitor: the Ruby object over an event queue of monitor_events.c. Needs the GVL. */
#include "proxy.h"
#include <stdlib.h>

static void monitor_mark(void *pointer) { rb_gc_mark_movable(((gw_listener_t *)pointer)->socket); }

static void monitor_compact(void *pointer) {
    gw_listener_t *listener = pointer;
    listener->socket = rb_gc_location(listener->socket);
}

static void monitor_free(void *pointer) {
    gw_monitor_remove(pointer);
    xfree(pointer);
}

static size_t monitor_size(const void *pointer) {
    const gw_listener_t *listener = pointer;
    return sizeof *listener + listener->bytes;
}

static const rb_data_type_t listener_type = {
        .wrap_struct_name = "Godwit::Monitor",
        .function = {monitor_mark, monitor_free, monitor_size, monitor_compact},
        .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE monitor_alloc(VALUE class) {
    gw_listener_t *listener;
    VALUE self = TypedData_Make_Struct(class, gw_listener_t, &listener_type, listener);
    listener->socket = Qnil;
    return self;
}

static gw_listener_t *monitor_get(VALUE self) { return rb_check_typeddata(self, &listener_type); }

/* _open(socket, events as libzmq's bits, limit of queued events; 0: no limit) */
static VALUE monitor_open(VALUE self, VALUE socket, VALUE events, VALUE limit) {
    gw_listener_t *listener = monitor_get(self);
    if (listener->open) rb_raise(rb_eRuntimeError, "this monitor is open already");
    uint64_t wanted = NUM2ULL(events);
    long most = NUM2LONG(limit);
    gw_socket_t *source = gw_socket_open(socket, "monitor");
    int error = gw_monitor_listen(
            source, gw_monitor_versioned() ? ZMQ_EVENT_ALL | GW_EVENT_PIPES_STATS : ZMQ_EVENT_ALL);
    if (error) gw_raise(error, "monitor", socket, Qnil);
    RB_OBJ_WRITE(self, &listener->socket, socket);
    listener->wanted = wanted;
    listener->limit = most;
    gw_monitor_add(source, listener);
    listener->open = true;
    return self;
}

static VALUE monitor_to_ruby(gw_event_t *event) {
    VALUE values = rb_ary_new_capa(event->count);
    for (size_t i = 0; i < event->count; i++) rb_ary_push(values, ULL2NUM(event->values[i]));
    VALUE local = rb_utf8_str_new(event->text, event->local);
    VALUE remote = gw_monitor_versioned()
            ? rb_utf8_str_new(event->text + event->local, event->remote)
            : Qnil;
    VALUE name = ULL2NUM(event->name);
    free(event);
    return rb_ary_new_from_args(4, name, values, local, remote);
}

/* _next(timeout in ms) => [event, values, local endpoint, remote endpoint or nil], or nil when time
 * is up. Events from before the close of the socket come first. */
static VALUE monitor_next(VALUE self, VALUE timeout) {
    static const char *const operation = "next_event";
    gw_listener_t *listener = monitor_get(self);
    if (!listener->open) gw_raise_closed(operation, self);
    gw_call_t call = {
            .self = self,
            .socket = rb_check_typeddata(listener->socket, &gw_socket_type),
            .operation = operation,
            .deadline = gw_deadline(gw_milliseconds(timeout, GW_FOREVER)),
            .quiet = true,
    };
    for (bool more = true;; more = gw_wait_on(&call, 0, gw_monitor_fd(call.socket))) {
        if (gw_socket_forked(call.socket)) gw_raise_forked(operation, self);
        if (listener->closed) gw_raise_closed(operation, self);
        int error =
                listener->first || !listener->source ? 0 : gw_monitor_drain(listener->source, NULL);
        gw_event_t *event = gw_monitor_dequeue(listener);
        if (event) return monitor_to_ruby(event);
        if (!listener->source) gw_raise_closed(operation, self);
        if (error != EAGAIN) gw_raise(error, operation, self, Qnil);
        if (!more) return Qnil;
    }
}

static VALUE monitor_close(VALUE self) {
    gw_listener_t *listener = monitor_get(self);
    if (!listener->open || listener->closed) return Qnil;
    gw_socket_t *socket = rb_check_typeddata(listener->socket, &gw_socket_type);
    if (gw_socket_forked(socket)) gw_raise_forked("close", self);
    listener->closed = true;
    gw_wake_monitor_waiters(socket);
    gw_monitor_remove(listener);
    return Qnil;
}

static VALUE monitor_closed_p(VALUE self) { return RBOOL(!monitor_get(self)->source); }

static VALUE monitor_waiters(VALUE self) {
    gw_socket_t *socket = monitor_get(self)->source;
    return LONG2NUM(socket ? gw_wait_queue_count(&socket->monitor_waiters) : 0);
}

static VALUE monitor_dropped(VALUE self) { return LONG2NUM(monitor_get(self)->dropped); }

/* _pipes_stats => whether libzmq will report on the socket's pipes; nil: this libzmq cannot */
static VALUE monitor_pipes_stats(VALUE self) {
    gw_listener_t *listener = monitor_get(self);
    if (!listener->source) gw_raise_closed("pipes_stats", self);
    gw_socket_t *socket = gw_socket_open(listener->socket, "pipes_stats");
    if (!gw_draft.socket_monitor_pipes_stats) return Qnil;
    int error = gw_draft.socket_monitor_pipes_stats(socket->zmq) == 0 ? 0 : errno;
    gw_settle(socket, error);
    if (error && error != EAGAIN) gw_raise(error, "pipes_stats", self, Qnil);
    return RBOOL(!error);
}

void gw_init_monitor(void) {
    VALUE class = rb_define_class_under(gw_mGodwit, "Monitor", rb_cObject);
    rb_define_alloc_func(class, monitor_alloc);
    rb_define_private_method(class, "_open", monitor_open, 3);
    rb_define_private_method(class, "_next", monitor_next, 1);
    rb_define_private_method(class, "_close", monitor_close, 0);
    rb_define_private_method(class, "_closed?", monitor_closed_p, 0);
    rb_define_private_method(class, "_dropped", monitor_dropped, 0);
    rb_define_private_method(class, "_waiters", monitor_waiters, 0);
    rb_define_private_method(class, "_pipes_stats", monitor_pipes_stats, 0);
}
