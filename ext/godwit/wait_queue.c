/* Wait queues: the waiters of a socket, a monitor or a poller, and the functions that wake them.
 * All functions but gw_waiter_signal need the GVL. */
#include "wait.h"
#include <ruby/io.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

void gw_waiter_add(gw_wait_queue_t *queue, gw_waiter_t *waiter) {
    waiter->next = NULL;
    waiter->prev = queue->last;
    if (queue->last) queue->last->next = waiter;
    else queue->first = waiter;
    queue->last = waiter;
}

void gw_waiter_remove(gw_wait_queue_t *queue, gw_waiter_t *waiter) {
    if (waiter->prev) waiter->prev->next = waiter->next;
    else queue->first = waiter->next;
    if (waiter->next) waiter->next->prev = waiter->prev;
    else queue->last = waiter->prev;
    waiter->prev = waiter->next = NULL;
}

/* Wakes the waiter. Ruby may call this function from a signal handler, without the GVL. */
void gw_waiter_signal(void *argument) {
    gw_waiter_t *waiter = argument;
    waiter->signalled = true;
    gw_event_signal(waiter->wake_fd);
}

void gw_waiter_wake(gw_waiter_t *waiter) {
    if (!waiter->signalled) gw_waiter_signal(waiter);
}

/* If `queue` is NULL, the waiter belongs to no socket, monitor or poller. */
gw_waiter_t *gw_waiter_claim(gw_wait_queue_t *queue, bool reuse) {
    gw_waiter_t *waiter = reuse ? queue->spare : NULL;
    if (waiter) {
        queue->spare = waiter->next;
    } else {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0) return NULL;
        waiter = ZALLOC(gw_waiter_t);
        waiter->wake_fd = fd;
        waiter->epoll_fd = -1;
        waiter->io = Qnil;
    }
    waiter->queue = queue;
    return waiter;
}

void gw_waiter_release(gw_wait_queue_t *queue, gw_waiter_t *waiter) {
    if (waiter->signalled) gw_event_clear(waiter->wake_fd);
    waiter->signalled = false;
    waiter->next = queue->spare;
    queue->spare = waiter;
}

void gw_waiter_free(gw_waiter_t *waiter) {
    close(waiter->wake_fd); /* Ruby's garbage collector closes `io`, which owns epoll_fd */
    xfree(waiter);
}

int gw_waiter_close_io(VALUE io) {
    int state = 0;
    if (!NIL_P(io)) rb_protect(rb_io_close, io, &state);
    return state;
}

void gw_wait_queue_wake(gw_wait_queue_t *queue) {
    for (gw_waiter_t *waiter = queue->first; waiter; waiter = waiter->next) gw_waiter_wake(waiter);
}

void gw_wait_queue_free_spares(gw_wait_queue_t *queue) {
    gw_waiter_t *next;
    for (gw_waiter_t *waiter = queue->spare; waiter; waiter = next) {
        next = waiter->next;
        gw_waiter_free(waiter);
    }
    queue->spare = NULL;
}

/* Closes the epolls of the unused waiters in `spare` now, not at the next garbage collection. */
void gw_wait_queue_close_spares(gw_wait_queue_t *queue) {
    VALUE error = rb_errinfo(), ios = rb_ary_new();
    for (gw_waiter_t *waiter = queue->spare; waiter; waiter = waiter->next) {
        if (!NIL_P(waiter->io)) rb_ary_push(ios, waiter->io);
    }
    /* The list of spares is empty before any close: other fibers may run during a close. */
    gw_wait_queue_free_spares(queue);
    for (VALUE io; !NIL_P(io = rb_ary_pop(ios));) {
        if (gw_waiter_close_io(io)) rb_set_errinfo(error);
    }
}

/* Frees the queue of an object that is being collected. A waiter that is still in the queue belongs
 * to a fiber that is collected too; that fiber's guard (wait.c) frees the waiter. */
void gw_wait_queue_free(gw_wait_queue_t *queue) {
    gw_wait_queue_free_spares(queue);
    for (gw_waiter_t *waiter = queue->first; waiter; waiter = waiter->next) waiter->queue = NULL;
    queue->first = queue->last = NULL;
}

void gw_wait_queue_mark(gw_wait_queue_t *queue) {
    for (gw_waiter_t *one = queue->spare; one; one = one->next) rb_gc_mark_movable(one->io);
    for (gw_waiter_t *one = queue->first; one; one = one->next) rb_gc_mark_movable(one->io);
}

void gw_wait_queue_compact(gw_wait_queue_t *queue) {
    for (gw_waiter_t *one = queue->spare; one; one = one->next) one->io = rb_gc_location(one->io);
    for (gw_waiter_t *one = queue->first; one; one = one->next) one->io = rb_gc_location(one->io);
}

size_t gw_wait_queue_size(const gw_wait_queue_t *queue) {
    size_t size = 0;
    for (gw_waiter_t *waiter = queue->spare; waiter; waiter = waiter->next) size += sizeof *waiter;
    return size;
}

long gw_wait_queue_count(const gw_wait_queue_t *queue) {
    long count = 0;
    for (gw_waiter_t *waiter = queue->first; waiter; waiter = waiter->next) count++;
    return count;
}

void gw_watch_touch(gw_watch_t *watch) {
    gw_poller_t *poller = watch->poller;
    if (watch->due) return;
    watch->due = true;
    watch->next_due = NULL;
    watch->prev_due = poller->last_due;
    if (poller->last_due) poller->last_due->next_due = watch;
    else poller->due = watch;
    poller->last_due = watch;
    gw_wait_queue_wake(&poller->queue);
}

/* Wakes the waiters, also those in pollers: some changes of a socket cause no edge of ZMQ_FD. */
void gw_wake_all(gw_socket_t *socket) {
    gw_wait_queue_wake(&socket->queue);
    for (gw_watch_t *watch = socket->watches; watch; watch = watch->next) gw_watch_touch(watch);
}

void gw_wake_monitor_waiters(gw_socket_t *socket) { gw_wait_queue_wake(&socket->monitor_waiters); }

/* Returns whether ZMQ_FD was written or read since the last call, even if its counter is 0 again.
 * An edge-triggered epoll remembers each edge and reports it, since an eventfd is always writable.
 * Returns true if no descriptor is free for the epoll. */
bool gw_edge_passed(gw_socket_t *socket) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
    if (socket->edge_fd < 0) {
        int fd = epoll_create1(EPOLL_CLOEXEC);
        if (fd < 0) return true;
        socket->edge_fd = fd;
        if (epoll_ctl(fd, EPOLL_CTL_ADD, socket->fd, &event) != 0) {
            gw_forget_edges(socket);
            return true;
        }
    }
    return epoll_wait(socket->edge_fd, &event, 1, 0) != 0;
}

void gw_forget_edges(gw_socket_t *socket) {
    if (socket->edge_fd >= 0) close(socket->edge_fd);
    socket->edge_fd = -1;
}

/* The eventfd of a thread-safe socket stays readable until it is read, and no libzmq call reads it.
 * The signal may concern any waiter, so this function wakes all. */
bool gw_clear_signal(gw_socket_t *socket) {
    if (!gw_event_clear(socket->fd)) return false;
    gw_wake_all(socket);
    return true;
}
