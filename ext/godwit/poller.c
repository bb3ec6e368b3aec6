/* Godwit::Poller: waits for several sockets and IOs (ADR 13); gw_wait_poller in wait.c waits. Every
 * function needs the GVL. No Ruby code runs between the check for ready members and the wait, so no
 * member becomes ready unnoticed. */
#include "proxy.h"
#include <fcntl.h>
#include <poll.h>
#include <ruby/io.h>
#include <stddef.h>
#include <sys/epoll.h>

enum { READABLE = ZMQ_POLLIN, WRITABLE = ZMQ_POLLOUT, FAULTY = ZMQ_POLLERR };

static void poller_release(gw_poller_t *poller) {
    gw_wait_queue_free_spares(&poller->queue);
    if (poller->epoll_fd >= 0) close(poller->epoll_fd);
    poller->epoll_fd = -1;
    poller->state = GW_CLOSED;
}

static void poller_mark(void *pointer) {
    gw_poller_t *poller = pointer;
    for (long i = 0; i < poller->count; i++) {
        rb_gc_mark_movable(poller->watches[i]->object);
        rb_gc_mark_movable(poller->watches[i]->io);
    }
    gw_wait_queue_mark(&poller->queue);
}

static void poller_compact(void *pointer) {
    gw_poller_t *poller = pointer;
    for (long i = 0; i < poller->count; i++) {
        poller->watches[i]->object = rb_gc_location(poller->watches[i]->object);
        poller->watches[i]->io = rb_gc_location(poller->watches[i]->io);
    }
    gw_wait_queue_compact(&poller->queue);
}

/* A forked child closes the epoll descriptor too, since the child has its own copy. */
static void poller_free(void *pointer) {
    gw_poller_t *poller = pointer;
    gw_watches_free(poller);
    gw_wait_queue_free(&poller->queue);
    poller_release(poller);
    xfree(poller);
}

static size_t poller_size(const void *pointer) {
    const gw_poller_t *poller = pointer;
    return sizeof *poller + poller->count * (sizeof(gw_watch_t *) + sizeof(gw_watch_t)) +
            gw_wait_queue_size(&poller->queue);
}

static const rb_data_type_t poller_type = {
        .wrap_struct_name = "Godwit::Poller",
        .function = {poller_mark, poller_free, poller_size, poller_compact},
        .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static void poller_emptied(gw_wait_queue_t *queue) {
    gw_poller_t *poller = (gw_poller_t *)((char *)queue - offsetof(gw_poller_t, queue));
    if (poller->state == GW_CLOSING) poller_release(poller);
}

static VALUE poller_alloc(VALUE class) {
    gw_poller_t *poller;
    VALUE self = TypedData_Make_Struct(class, gw_poller_t, &poller_type, poller);
    poller->epoll_fd = -1;
    poller->queue.emptied = poller_emptied;
    return self;
}

static gw_poller_t *poller_get(VALUE self) { return rb_check_typeddata(self, &poller_type); }

static bool poller_forked(const gw_poller_t *poller) {
    return poller->state != GW_NEW && gw_forked(poller->generation);
}

static gw_poller_t *poller_opened(VALUE self, const char *operation) {
    gw_poller_t *poller = poller_get(self);
    if (poller->state != GW_OPEN) gw_raise_closed(operation, self);
    if (poller_forked(poller)) gw_raise_forked(operation, self);
    return poller;
}

static VALUE poller_open(VALUE self) {
    gw_poller_t *poller = poller_get(self);
    if (poller->state != GW_NEW) rb_raise(rb_eRuntimeError, "this poller is open already");
    poller->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (poller->epoll_fd < 0) gw_raise(errno, "new", self, Qnil);
    poller->generation = atomic_load(&gw_generation);
    poller->state = GW_OPEN;
    return self;
}

static VALUE poller_close(VALUE self) {
    gw_poller_t *poller = poller_get(self);
    if (poller->state != GW_OPEN) return Qnil;
    if (poller_forked(poller)) gw_raise_forked("close", self);
    gw_watches_free(poller);
    poller->state = GW_CLOSING;
    gw_wait_queue_wake(&poller->queue);
    gw_wait_queue_close_spares(&poller->queue);
    if (!poller->queue.first && poller->state == GW_CLOSING) poller_release(poller);
    return Qnil;
}

static VALUE poller_closed_p(VALUE self) { return RBOOL(poller_get(self)->state != GW_OPEN); }
static VALUE poller_forked_p(VALUE self) { return RBOOL(poller_forked(poller_get(self))); }

static gw_watch_t *poller_find(gw_poller_t *poller, VALUE object) {
    if (rb_typeddata_is_kind_of(object, &gw_socket_type)) {
        gw_watch_t *watch = ((gw_socket_t *)RTYPEDDATA_DATA(object))->watches;
        while (watch && watch->poller != poller) watch = watch->next;
        return watch;
    }
    for (long i = 0; i < poller->count; i++) {
        if (poller->watches[i]->object == object) return poller->watches[i];
    }
    return NULL;
}

static VALUE poller_fileno_of(VALUE io) { return INT2NUM(rb_io_descriptor(io)); }

/* Returns the IO's descriptor; -1: the IO is closed. */
static int poller_descriptor(VALUE io) {
    int state = 0;
    VALUE fd = rb_protect(poller_fileno_of, io, &state);
    if (!state) return NUM2INT(fd);
    rb_set_errinfo(Qnil);
    return -1;
}

NORETURN(static void poller_raise_closed(VALUE object, const char *operation)) {
    gw_raise_detail("ClosedError", operation,
            "%+" PRIsVALUE " was closed while it was registered: remove it from the poller",
            object);
}

/* Returns the IO's descriptor for these events; raises if the IO was not opened for them. */
static int poller_descriptor_for(VALUE object, VALUE io, int events, const char *operation) {
    VALUE writer = rb_io_get_write_io(io);
    if (writer != io && events == (READABLE | WRITABLE)) {
        gw_raise_detail("PollerError", operation,
                "%+" PRIsVALUE " has one descriptor to read and another to write: "
                "register it for one of them",
                object);
    }
    int fd = poller_descriptor(events & WRITABLE ? writer : io);
    if (fd < 0)
        gw_raise_detail("ClosedError", operation,
                "%+" PRIsVALUE " is closed: register it while it is open", object);
    int mode = fcntl(fd, F_GETFL);
    if (mode < 0) return fd;
    mode &= O_ACCMODE;
    if ((mode == O_RDONLY && events & WRITABLE) || (mode == O_WRONLY && events & READABLE))
        gw_raise_detail("UnsupportedError", operation, "%+" PRIsVALUE " is not open for %s", object,
                mode == O_RDONLY ? "writing" : "reading");
    return fd;
}

NORETURN(static void poller_raise_attach(
        int error, VALUE self, VALUE object, const char *operation)) {
    if (error != EEXIST) gw_raise(error, operation, self, Qnil);
    gw_raise_detail("PollerError", operation,
            "another IO over the descriptor of %+" PRIsVALUE
            " is registered: remove that one first",
            object);
}

/* _register(object, its IO or nil, events) => true; false: the object is registered already */
static VALUE poller_register(VALUE self, VALUE object, VALUE io, VALUE events) {
    gw_poller_t *poller = poller_opened(self, "register");
    int wanted = NUM2INT(events);
    gw_socket_t *socket = NIL_P(io) ? gw_socket_open(object, "register") : NULL;
    if (poller_find(poller, object)) return Qfalse;
    int fd = socket ? socket->fd : poller_descriptor_for(object, io, wanted, "register");

    REALLOC_N(poller->watches, gw_watch_t *, poller->count + 1);
    gw_watch_t *watch = ZALLOC(gw_watch_t);
    watch->poller = poller;
    watch->socket = socket;
    watch->object = object;
    watch->io = io;
    watch->serial = ++poller->serial;
    watch->fd = -1;
    watch->events = wanted;
    int error = gw_watch_attach(watch, fd);
    if (error) {
        xfree(watch);
        poller_raise_attach(error, self, object, "register");
    }
    if (socket) {
        watch->next = socket->watches;
        socket->watches = watch;
    } else {
        poller->ios++;
    }
    poller->watches[poller->count++] = watch;
    gw_watch_touch(watch);
    return Qtrue;
}

static VALUE poller_modify(VALUE self, VALUE object, VALUE events) {
    gw_poller_t *poller = poller_opened(self, "modify");
    int wanted = NUM2INT(events);
    gw_watch_t *watch = poller_find(poller, object);
    if (!watch) return Qfalse;
    if (!NIL_P(watch->io)) {
        if (poller_descriptor(watch->io) < 0) poller_raise_closed(object, "modify");
        int fd = poller_descriptor_for(object, watch->io, wanted, "modify"), before = watch->events;
        if (fd != watch->fd) gw_watch_detach(watch);
        watch->events = wanted;
        int error = gw_watch_attach(watch, fd);
        if (error) {
            watch->events = before;
            poller_raise_attach(error, self, object, "modify");
        }
    }
    watch->events = wanted;
    gw_watch_touch(watch);
    return Qtrue;
}

static VALUE poller_remove(VALUE self, VALUE object) {
    gw_poller_t *poller = poller_opened(self, "remove");
    gw_watch_t *watch = poller_find(poller, object);
    if (!watch) return Qfalse;
    long index = 0;
    while (poller->watches[index] != watch) index++;
    MEMMOVE(poller->watches + index, poller->watches + index + 1, gw_watch_t *,
            poller->count - index - 1);
    poller->count--;
    gw_watch_settle(watch);
    if (NIL_P(watch->io)) {
        gw_watch_detach(watch);
    } else {
        poller->ios--;
        VALUE io = watch->events & WRITABLE ? rb_io_get_write_io(watch->io) : watch->io;
        /* The descriptor number of a closed IO may belong to another file now. */
        if (poller_descriptor(io) == watch->fd) gw_watch_detach(watch);
    }
    gw_watch_unlink(watch);
    xfree(watch);
    return Qtrue;
}

static VALUE poller_members(VALUE self, VALUE operation) {
    gw_poller_t *poller = poller_opened(self, rb_id2name(rb_sym2id(operation)));
    VALUE members = rb_ary_new_capa(2 * poller->count);
    for (long i = 0; i < poller->count; i++) {
        rb_ary_push(members, poller->watches[i]->object);
        rb_ary_push(members, INT2FIX(poller->watches[i]->events));
    }
    return members;
}

static int poller_poll_socket(VALUE self, gw_watch_t *watch) {
    gw_socket_t *socket = watch->socket;
    /* While a proxy uses the socket, no poller may poll it. proxy_release wakes the pollers. */
    if (socket && socket->state == GW_IN_PROXY) return 0;
    if (!socket || socket->state != GW_OPEN) poller_raise_closed(watch->object, "wait");
    /* Socket#_reopen may have failed to add the socket's new descriptor to the epoll. */
    int error = watch->fd < 0 ? gw_watch_attach(watch, socket->fd) : 0;
    if (error) gw_raise(error, "wait", self, Qnil);
    int events = gw_socket_events(socket);
    if (events < 0) gw_raise(errno, "wait", watch->object, Qnil);
    return events & watch->events; /* a PUB is never registered for reading */
}

static bool poller_buffered(VALUE io) {
    rb_io_t *file = RFILE(io)->fptr;
    return file && rb_io_read_pending(file);
}

/* Polls an IO as IO.select does: the end of a stream is readable, and so are bytes in Ruby's own
 * buffer. */
static int poller_poll_io(gw_watch_t *watch) {
    bool reads = watch->events & READABLE, writes = watch->events & WRITABLE;
    int ready = 0, fd = poller_descriptor(writes ? rb_io_get_write_io(watch->io) : watch->io);
    if (fd < 0) poller_raise_closed(watch->object, "wait");
    struct pollfd one = {.fd = fd, .events = (reads ? POLLIN : 0) | (writes ? POLLOUT : 0)};
    poll(&one, 1, 0);
    if (one.revents & (POLLIN | POLLHUP | POLLERR | POLLNVAL)) ready |= READABLE;
    if (one.revents & (POLLOUT | POLLERR | POLLNVAL)) ready |= WRITABLE;
    if (reads && poller_buffered(watch->io)) ready |= READABLE;
    ready &= watch->events;
    if (one.revents & (POLLERR | POLLNVAL)) ready |= FAULTY;
    return ready;
}

/* Returns the ready members, which stay in `due`, as [object, events, object, events…] or nil. */
static VALUE poller_poll_due(VALUE self, gw_poller_t *poller) {
    VALUE ready = Qnil;
    gw_watch_t *next;
    for (gw_watch_t *watch = poller->due; watch; watch = next) {
        int events = NIL_P(watch->io) ? poller_poll_socket(self, watch) : poller_poll_io(watch);
        next = watch->next_due;
        if (!events) {
            gw_watch_settle(watch);
            continue;
        }
        if (NIL_P(ready)) ready = rb_ary_new();
        rb_ary_push(ready, watch->object);
        rb_ary_push(ready, INT2FIX(events));
    }
    return ready;
}

/* Adds IOs to `due` that epoll does not report: closed IOs, and IOs with bytes in Ruby's buffer,
 * which IO#ungetbyte may have put there. */
static void poller_check_ios(gw_poller_t *poller) {
    for (long i = 0, remaining = poller->ios; remaining > 0; i++) {
        gw_watch_t *watch = poller->watches[i];
        if (NIL_P(watch->io)) continue;
        remaining--;
        if (poller_descriptor(watch->io) < 0 ||
                (watch->events & READABLE && poller_buffered(watch->io)))
            gw_watch_touch(watch);
    }
}

/* Waits in slices: the close of an IO wakes no waiting thread, so the thread checks the IOs every
 * GW_IO_POLL_INTERVAL ms. Returns false when time is up. */
static bool poller_wait_slice(gw_call_t *call, gw_poller_t *poller) {
    gw_call_t slice = *call;
    gw_deadline_t one = gw_deadline(GW_IO_POLL_INTERVAL);
    if (poller->ios && (call->deadline == GW_FOREVER || one < call->deadline)) slice.deadline = one;
    if (gw_wait_poller(&slice, poller)) return true;
    if (slice.deadline == call->deadline) return false;
    poller_check_ios(poller);
    return true;
}

/* _wait(timeout in ms) => [object, events, object, events…], or nil when time is up */
static VALUE poller_wait(VALUE self, VALUE timeout) {
    gw_poller_t *poller = poller_opened(self, "wait");
    gw_call_t call = {.self = self,
            .operation = "wait",
            .deadline = gw_deadline(gw_milliseconds(timeout, GW_FOREVER))};
    if (gw_yield_turn(&poller->calls_since_yield)) poller_opened(self, "wait");
    if (poller->count == 0 && call.deadline == GW_FOREVER) {
        gw_raise_detail("PollerError", "wait",
                "nothing is registered, so this would wait for ever: register something, or give a "
                "timeout");
    }
    poller_check_ios(poller);
    VALUE ready;
    do {
        gw_watches_collect(poller);
        ready = poller_poll_due(self, poller);
    } while (NIL_P(ready) && poller_wait_slice(&call, poller));
    RB_GC_GUARD(self);
    return ready;
}

static VALUE poller_waiters(VALUE self) {
    return LONG2NUM(gw_wait_queue_count(&poller_get(self)->queue));
}

void gw_init_poller(void) {
    VALUE class = rb_define_class_under(gw_mGodwit, "Poller", rb_cObject);
    rb_define_alloc_func(class, poller_alloc);
    rb_define_private_method(class, "_open", poller_open, 0);
    rb_define_private_method(class, "_close", poller_close, 0);
    rb_define_private_method(class, "_closed?", poller_closed_p, 0);
    rb_define_private_method(class, "_forked?", poller_forked_p, 0);
    rb_define_private_method(class, "_register", poller_register, 3);
    rb_define_private_method(class, "_modify", poller_modify, 2);
    rb_define_private_method(class, "_remove", poller_remove, 1);
    rb_define_private_method(class, "_members", poller_members, 1);
    rb_define_private_method(class, "_wait", poller_wait, 1);
    rb_define_private_method(class, "_waiters", poller_waiters, 0);
}
