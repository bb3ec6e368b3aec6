/* The one wait: zmq_poll on descriptors. ZMQ_FD is edge-triggered, so each poll of a socket reads
 * its events first. */
#include "gem.h"
#include <fcntl.h>
#include <poll.h>

/* ms until a deadline in ms on the monotonic clock; -1: for ever. */
static long poll_left(int64_t deadline) {
    if (deadline == GW_FOREVER) return GW_FOREVER;
    int64_t remaining = deadline - gw_milliseconds_exact();
    return remaining > 0 ? remaining : 0;
}

/* The first ms that is not too early. */
static int64_t poll_deadline(mrb_int milliseconds) {
    if (milliseconds < 0) return GW_FOREVER;
    return (gw_nanoseconds(CLOCK_MONOTONIC) + 999999) / 1000000 + milliseconds;
}

/* Returns an errno: ETIMEDOUT when time is up. */
static int poll_wait(zmq_pollitem_t *items, int count, int64_t deadline) {
    for (;;) {
        int rc = zmq_poll(items, count, poll_left(deadline));
        if (rc > 0) return 0;
        if (rc == 0) return ETIMEDOUT;
        if (errno != EINTR) return errno;
    }
}

static mrb_value poll_events(mrb_state *mrb, mrb_value self) {
    int events = gw_socket_events(gw_socket_open(mrb, self, "wait"));
    if (events < 0) gw_raise(mrb, errno, "wait", self, mrb_nil_value());
    return mrb_fixnum_value(events);
}

/* _poll(events, ms) => true: one of the events is true; false: time is up */
static mrb_value poll_socket(mrb_state *mrb, mrb_value self) {
    gw_socket_t *socket = gw_socket_check(mrb, self, "wait");
    mrb_int wanted, milliseconds;
    mrb_get_args(mrb, "ii", &wanted, &milliseconds);
    bool stale = !socket->drained || wanted != ZMQ_POLLIN;
    socket->drained = false;
    int64_t deadline = poll_deadline(milliseconds);
    zmq_pollitem_t item = {.fd = socket->fd, .events = ZMQ_POLLIN};
    for (;; stale = true) {
        int events = stale ? gw_socket_events(socket) : 0;
        if (events < 0) gw_raise(mrb, errno, "wait", self, mrb_nil_value());
        if (events & wanted) return mrb_true_value();
        int error = poll_wait(&item, 1, deadline);
        if (error == ETIMEDOUT) return mrb_false_value();
        if (error) gw_raise(mrb, error, "wait", self, mrb_nil_value());
    }
}

/* Fills one item for each of a poller's members, [Socket or descriptor, events, …]. */
static int poll_fill(mrb_state *mrb, mrb_value members, zmq_pollitem_t *items) {
    int count = RARRAY_LEN(members) / 2;
    for (int i = 0; i < count; i++) {
        mrb_value source = RARRAY_PTR(members)[2 * i];
        int events = mrb_integer(RARRAY_PTR(members)[2 * i + 1]);
        if (mrb_integer_p(source)) {
            items[i] = (zmq_pollitem_t){.fd = mrb_integer(source), .events = events};
        } else {
            int fd = gw_socket_open(mrb, source, "wait")->fd;
            items[i] = (zmq_pollitem_t){.fd = fd, .events = ZMQ_POLLIN};
        }
    }
    return count;
}

/* As IO.select: the end of a stream is readable. */
static int poll_descriptor(int fd, int wanted) {
    bool reads = wanted & ZMQ_POLLIN, writes = wanted & ZMQ_POLLOUT;
    int ready = 0;
    struct pollfd one = {.fd = fd, .events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0)};
    poll(&one, 1, 0);
    if (one.revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) ready |= ZMQ_POLLIN;
    if (one.revents & (POLLOUT | POLLERR | POLLNVAL)) ready |= ZMQ_POLLOUT;
    ready &= wanted;
    return one.revents & (POLLERR | POLLNVAL) ? ready | ZMQ_POLLERR : ready;
}

static int poll_ask(mrb_state *mrb, mrb_value source, int wanted) {
    if (mrb_integer_p(source)) return poll_descriptor(mrb_integer(source), wanted);
    int events = gw_socket_events(gw_socket_open(mrb, source, "wait"));
    if (events < 0) gw_raise(mrb, errno, "wait", source, mrb_nil_value());
    return events & wanted;
}

/* Adds the index and the events of each member that is ready. */
static void poll_collect(mrb_state *mrb, mrb_value members, mrb_value ready) {
    for (mrb_int i = 0; i < RARRAY_LEN(members) / 2; i++) {
        mrb_value source = RARRAY_PTR(members)[2 * i], wanted = RARRAY_PTR(members)[2 * i + 1];
        int events = poll_ask(mrb, source, mrb_integer(wanted));
        if (!events) continue;
        mrb_ary_push(mrb, ready, mrb_fixnum_value(i));
        mrb_ary_push(mrb, ready, mrb_fixnum_value(events));
    }
}

/* poll(members, ms) => [index, events, …]; empty: time is up */
static mrb_value poll_members(mrb_state *mrb, mrb_value self) {
    mrb_value members;
    mrb_int milliseconds;
    int error = 0;
    mrb_get_args(mrb, "Ai", &members, &milliseconds);
    int64_t deadline = poll_deadline(milliseconds);
    mrb_value ready = mrb_ary_new(mrb);
    /* A String, so that the VM frees it also after an error. */
    mrb_value memory =
            mrb_str_new(mrb, NULL, (RARRAY_LEN(members) / 2 + 1) * sizeof(zmq_pollitem_t));
    zmq_pollitem_t *items = (zmq_pollitem_t *)RSTRING_PTR(memory);
    int count = poll_fill(mrb, members, items);
    while (!error) {
        poll_collect(mrb, members, ready);
        if (RARRAY_LEN(ready) > 0) return ready;
        error = poll_wait(items, count, deadline);
    }
    if (error != ETIMEDOUT) gw_raise(mrb, error, "wait", mrb_nil_value(), mrb_nil_value());
    return ready;
}

/* open_for(descriptor) => bits: 1 reading, 2 writing */
static mrb_value poll_open_for(mrb_state *mrb, mrb_value self) {
    mrb_int fd;
    mrb_get_args(mrb, "i", &fd);
    int mode = fcntl(fd, F_GETFL), both = ZMQ_POLLIN | ZMQ_POLLOUT;
    if (mode >= 0 && (mode & O_ACCMODE) == O_RDONLY) return mrb_fixnum_value(ZMQ_POLLIN);
    if (mode >= 0 && (mode & O_ACCMODE) == O_WRONLY) return mrb_fixnum_value(ZMQ_POLLOUT);
    return mrb_fixnum_value(both);
}

static mrb_value poll_now(mrb_state *mrb, mrb_value self) {
    return mrb_float_value(mrb, gw_nanoseconds(CLOCK_MONOTONIC) / 1e9);
}

void gw_init_poll(mrb_state *mrb, struct RClass *socket, struct RClass *backend) {
    mrb_define_method(mrb, socket, "_events", poll_events, MRB_ARGS_NONE());
    mrb_define_method(mrb, socket, "_poll", poll_socket, MRB_ARGS_REQ(2));
    mrb_define_class_method(mrb, backend, "poll", poll_members, MRB_ARGS_REQ(2));
    mrb_define_class_method(mrb, backend, "open_for", poll_open_for, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, backend, "now", poll_now, MRB_ARGS_NONE());
}
