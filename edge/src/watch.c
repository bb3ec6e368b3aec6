/* libzmq's descriptors on nginx's loop. A descriptor of libzmq is edge-triggered: any call on the
 * socket may consume an edge, so sockets are looked at again before the loop sleeps. */
#include "edge.h"

typedef struct {
    ngx_connection_t *connection;
    ngx_event_t kick;
    mrb_value watcher; /* borrowed: Ruby keeps it in Edge::Watch::OPEN; it has `look` */
    ngx_queue_t link;
} watch_t;

static ngx_queue_t watch_open;

ngx_connection_t *gw_watch_begin(int descriptor, ngx_event_handler_pt handler, ngx_uint_t flags) {
    ngx_connection_t *connection = ngx_get_connection((ngx_socket_t)descriptor, ngx_cycle->log);
    if (!connection) return NULL;
    connection->read->handler = connection->write->handler = handler;
    connection->read->log = connection->write->log = ngx_cycle->log;
    if (ngx_add_event(connection->read, NGX_READ_EVENT, flags) == NGX_OK) return connection;
    gw_watch_end(connection);
    return NULL;
}

void gw_watch_end(ngx_connection_t *connection) {
    ngx_event_t *read = connection->read, *write = connection->write;
    gw_unpost(read);
    gw_unpost(write);
    if (read->active) ngx_del_event(read, NGX_READ_EVENT, 0);
    if (write->active) ngx_del_event(write, NGX_WRITE_EVENT, 0);
    ngx_free_connection(connection);
    connection->fd = (ngx_socket_t)-1;
}

static int watch_argument(mrb_state *mrb, void *data, mrb_value *arguments) {
    arguments[0] = ((watch_t *)data)->watcher;
    return 1;
}

static void watch_look(watch_t *watch) { gw_vm_enter(NULL, GW_LOOK, watch_argument, watch); }
static void watch_readable(ngx_event_t *event) {
    watch_look(((ngx_connection_t *)event->data)->data);
}
static void watch_kicked(ngx_event_t *event) { watch_look(gw_of(event, watch_t, kick)); }
static void watch_again(ngx_event_t *event) { gw_vm_enter(NULL, GW_LOOK_ALL, NULL, NULL); }

static void watch_close(mrb_state *mrb, void *data) {
    watch_t *watch = data;
    if (!watch) return;
    gw_unpost(&watch->kick);
    gw_watch_end(watch->connection);
    ngx_queue_remove(&watch->link);
    mrb_free(mrb, watch);
}

static const struct mrb_data_type watch_type = {"Edge::Watch", watch_close};

/* Edge::Watch.new(descriptor): the object must be kept until `close`. */
static mrb_value watch_initialize(mrb_state *mrb, mrb_value self) {
    mrb_int descriptor;
    mrb_get_args(mrb, "i", &descriptor);
    ngx_connection_t *connection =
            gw_watch_begin((int)descriptor, watch_readable, NGX_CLEAR_EVENT);
    if (!connection)
        gw_vm_raise("BusyError", "nginx has no free connection: raise worker_connections");
    watch_t *watch = mrb_malloc(mrb, sizeof *watch);
    watch->connection = connection;
    watch->watcher = self;
    gw_vm_event(&watch->kick, watch_kicked);
    connection->data = watch;
    ngx_queue_insert_tail(&watch_open, &watch->link);
    mrb_data_init(self, watch, &watch_type);
    return self;
}

/* Has `look` called again before the loop sleeps. */
static mrb_value watch_kick(mrb_state *mrb, mrb_value self) {
    watch_t *watch = mrb_data_get_ptr(mrb, self, &watch_type);
    if (!watch) return self;
    gw_post(&watch->kick);
    return self;
}

/* The same, but the loop looks at its other descriptors before. */
static mrb_value watch_kick_later(mrb_state *mrb, mrb_value self) {
    watch_t *watch = mrb_data_get_ptr(mrb, self, &watch_type);
    if (!watch) return self;
    ngx_event_t *kick = &watch->kick;
    ngx_post_event(kick, &ngx_posted_next_events);
    return self;
}

static mrb_value watch_end(mrb_state *mrb, mrb_value self) {
    watch_t *watch = mrb_data_get_ptr(mrb, self, &watch_type);
    mrb_data_init(self, NULL, &watch_type);
    watch_close(mrb, watch);
    return mrb_nil_value();
}

void gw_watch_close_all(void) {
    while (!ngx_queue_empty(&watch_open)) {
        watch_t *watch = ngx_queue_data(ngx_queue_head(&watch_open), watch_t, link);
        mrb_data_init(watch->watcher, NULL, &watch_type);
        watch_close(gw_vm.mrb, watch);
    }
}

/* Edge::Watch._waits(change): so many fibers more wait for sockets. */
static mrb_value watch_count(mrb_state *mrb, mrb_value self) {
    mrb_int change;
    mrb_get_args(mrb, "i", &change);
    gw_vm.socket_waits += change;
    return mrb_nil_value();
}

void gw_watch_init(mrb_state *mrb) {
    ngx_queue_init(&watch_open);
    gw_vm_event(&gw_vm.look_all, watch_again);
    struct RClass *class = mrb_define_class_under(mrb, gw_vm.edge, "Watch", mrb->object_class);
    MRB_SET_INSTANCE_TT(class, MRB_TT_DATA);
    mrb_define_method(mrb, class, "initialize", watch_initialize, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, class, "kick", watch_kick, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "kick_later", watch_kick_later, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "close", watch_end, MRB_ARGS_NONE());
    mrb_define_class_method(mrb, class, "_waits", watch_count, MRB_ARGS_REQ(1));
}
