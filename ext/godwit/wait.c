/* The only file that waits (law 1, ADR 1). A waiter has an eventfd and enters a wait queue before
 * its thread gives up the GVL, which guards the queues. No wake-up is lost (law 2): transfer.c
 * wakes all waiters after a call that may have consumed an edge of ZMQ_FD. */
#include "wait.h"
#include <fcntl.h>
#include <poll.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/thread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

static ID id_for_fd, id_diagnose;
static VALUE guard_class;

static int64_t wait_now(void) { return gw_nanoseconds(CLOCK_MONOTONIC); }

gw_deadline_t gw_deadline(int64_t milliseconds) {
    if (milliseconds < 0) return GW_FOREVER;
    if (milliseconds == 0) return 0;
    int64_t start = wait_now();
    if (milliseconds > (INT64_MAX - start) / 1000000) return GW_FOREVER;
    return start + milliseconds * 1000000;
}

void gw_call_set_deadline(gw_call_t *call, int64_t milliseconds) {
    call->deadline = gw_deadline(milliseconds);
    call->diagnoses = true;
    if (milliseconds <= GW_SLOW_WAIT || call->deadline == GW_FOREVER) return;
    call->diagnose_again = (int64_t)GW_SLOW_WAIT * 1000000 / 2;
    call->diagnose_at = call->deadline - (milliseconds - GW_SLOW_WAIT) * 1000000;
}

typedef struct {
    struct pollfd fds[2];
    gw_deadline_t deadline;
    int ready; /* ppoll's result; -2: ppoll was not called, since an interrupt was pending */
    gw_waiter_t *waiter;
} poll_t;

static void *wait_poll_both(void *argument) {
    poll_t *poll = argument;
    struct timespec remaining, *timeout = NULL;
    if (poll->deadline != GW_FOREVER) {
        int64_t ns = poll->deadline - wait_now();
        if (ns < 0) ns = 0;
        remaining.tv_sec = ns / 1000000000;
        remaining.tv_nsec = ns % 1000000000;
        timeout = &remaining;
    }
    poll->ready = ppoll(poll->fds, 2, timeout, NULL);
    return NULL;
}

/* Checks interrupts before and after the wait, as Ruby's own blocking calls do. These checks raise
 * an interrupt that Thread.handle_interrupt(… => :on_blocking) has deferred. */
static VALUE wait_without_gvl(VALUE argument) {
    poll_t *poll = (poll_t *)argument;
    unsigned generation = atomic_load(&gw_generation);
    rb_thread_check_ints();
    /* The generation differs in a child that a trap handler has just forked. */
    if (generation != atomic_load(&gw_generation)) return Qnil;
    rb_nogvl(wait_poll_both, poll, gw_waiter_signal, poll->waiter,
            RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
    if (poll->ready <= 0 || !poll->fds[0].revents) rb_thread_check_ints();
    return Qnil;
}

/* Returns the state of rb_protect: not 0 if an interrupt raised. */
static int wait_in_thread(gw_waiter_t *waiter, int fd, gw_deadline_t deadline, bool *seen) {
    int state = 0;
    poll_t poll = {.deadline = deadline, .ready = -2, .waiter = waiter};
    poll.fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
    poll.fds[1] = (struct pollfd){.fd = waiter->wake_fd, .events = POLLIN};
    rb_protect(wait_without_gvl, (VALUE)&poll, &state);
    *seen = poll.ready > 0 && poll.fds[0].revents;
    return state;
}

/* ---- waiting on an IO: in a fiber, or in the main thread if other threads exist ---- */

static void wait_guard_mark(void *waiter) {
    if (waiter) rb_gc_mark(((gw_waiter_t *)waiter)->io);
}

static void wait_guard_free(void *pointer) {
    gw_waiter_t *waiter = pointer;
    if (!waiter) return;
    gw_wait_queue_t *queue = waiter->queue;
    if (queue) {
        gw_waiter_remove(queue, waiter);
        if (!queue->first) queue->emptied(queue);
    }
    gw_waiter_free(waiter);
}

/* A guard frees the waiter of a fiber that is collected while it waits, after its thread has died.
 * The guard has no size function, since it lives as long as one wait. */
static const rb_data_type_t guard_type = {
        .wrap_struct_name = "Godwit wait",
        .function = {.dmark = wait_guard_mark, .dfree = wait_guard_free},
        .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

typedef struct {
    gw_call_t *call;
    gw_waiter_t *waiter;
    int fd;
    bool ready; /* whether fd is ready; false: time is up, or no wait began */
} io_wait_t;

/* A child that a trap handler forks returns into the main thread's wait, where Ruby would go on
 * polling the parent's descriptors. So the child replaces the waiter's epoll with a descriptor that
 * is always readable. */
static _Thread_local gw_waiter_t *volatile main_waiter; /* this thread's waiter in wait_on_io */

static void wait_after_fork(void) {
    if (!main_waiter || main_waiter->epoll_fd < 0) return;
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) return;
    dup2(fd, main_waiter->epoll_fd);
    close(fd);
}

/* Makes the waiter's IO, over an epoll of `fd` and wake_fd. Returns an errno. */
static int wait_make_io(gw_waiter_t *waiter, int fd) {
    struct epoll_event event = {.events = EPOLLIN};
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0) return errno;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 ||
            epoll_ctl(epoll_fd, EPOLL_CTL_ADD, waiter->wake_fd, &event) != 0) {
        int error = errno;
        close(epoll_fd);
        return error;
    }
    /* This IO now owns epoll_fd. */
    waiter->io = rb_funcall(rb_cIO, id_for_fd, 1, INT2NUM(epoll_fd));
    waiter->epoll_fd = epoll_fd;
    return 0;
}

static VALUE wait_for_io(VALUE argument) {
    io_wait_t *wait = (io_wait_t *)argument;
    gw_call_t *call = wait->call;
    /* No deadline means a day: the gem async 2.24 fails on nil with Ruby 3.1 (ADR 7). */
    VALUE timeout = INT2FIX(86400);
    unsigned generation = atomic_load(&gw_generation);
    rb_thread_check_ints();
    if (generation != atomic_load(&gw_generation)) return Qnil;
    int error = NIL_P(wait->waiter->io) ? wait_make_io(wait->waiter, wait->fd) : 0;
    if (error) gw_raise(error, call->operation, call->self, Qnil);
    if (call->deadline != GW_FOREVER) {
        int64_t ns = call->deadline - wait_now();
        timeout = DBL2NUM(ns > 0 ? (double)ns / 1e9 : 0.0);
    }
    wait->ready = RTEST(rb_io_wait(wait->waiter->io, INT2NUM(RUBY_IO_READABLE), timeout));
    return Qnil;
}

static int wait_on_io(gw_call_t *call, gw_waiter_t *waiter, int fd, bool *seen) {
    int state = 0;
    io_wait_t wait = {.call = call, .waiter = waiter, .fd = fd};
    VALUE guard = TypedData_Wrap_Struct(guard_class, &guard_type, waiter);
    if (NIL_P(rb_fiber_scheduler_current())) main_waiter = waiter;
    rb_protect(wait_for_io, (VALUE)&wait, &state);
    main_waiter = NULL;
    RTYPEDDATA_DATA(guard) = NULL;
    RB_GC_GUARD(guard);
    *seen = wait.ready;
    return state;
}

/* A fiber waits through its scheduler. If other threads exist, the main thread waits through Ruby's
 * own wait, which polls for signals: Ruby 3.1 calls no unblock function for a signal that arrives
 * between Ruby's check for interrupts and our ppoll. */
static int wait_once(gw_call_t *call, gw_waiter_t *waiter, int fd, bool *seen) {
    bool by_io = !NIL_P(rb_fiber_scheduler_current()) ||
            (!rb_thread_alone() && rb_thread_current() == rb_thread_main());
    return by_io ? wait_on_io(call, waiter, fd, seen)
                 : wait_in_thread(waiter, fd, call->deadline, seen);
}

static bool wait_passed(gw_deadline_t deadline) {
    return deadline != GW_FOREVER && (deadline == 0 || wait_now() >= deadline);
}

/* The number of this thread's nested waits without a fiber scheduler. A trap handler that waits
 * during a wait makes it 2. */
static _Thread_local int waits_of_thread;

bool gw_wait_interrupted(void) { return waits_of_thread > 0; }

/* Waits until `fd` is readable or the waiter is woken. If `queue` is NULL, no call wakes the
 * waiter. Returns the state of rb_protect. */
static int wait_in_queue(
        gw_wait_queue_t *queue, gw_call_t *call, short events, int fd, bool reuse, bool *again) {
    gw_waiter_t *waiter = gw_waiter_claim(queue, reuse);
    if (!waiter && !queue && (errno == EMFILE || errno == ENFILE)) {
        rb_gc(); /* a closed context has an eventfd until it is collected */
        waiter = gw_waiter_claim(queue, reuse);
    }
    if (!waiter) gw_raise(errno, call->operation, call->self, Qnil);
    waiter->events = events;
    if (queue) gw_waiter_add(queue, waiter);
    bool seen;
    const int before = waits_of_thread;
    if (queue && NIL_P(rb_fiber_scheduler_current())) waits_of_thread++;
    int state = wait_once(call, waiter, fd, &seen);
    waits_of_thread = before;
    if (!reuse) { /* the waiter stays in the queue during the close, when other fibers may run */
        int error = gw_waiter_close_io(waiter->io);
        if (!state) state = error;
    }
    *again = seen || waiter->signalled; /* a wake-up may come together with the time-out */
    if (queue) gw_waiter_remove(queue, waiter);
    if (reuse) gw_waiter_release(queue, waiter);
    else gw_waiter_free(waiter);
    return state;
}

/* Returns the time at which the wait must end so that Ruby can diagnose it; GW_FOREVER: no
 * diagnosis comes before the deadline. */
static gw_deadline_t wait_next_diagnosis(gw_call_t *call) {
    if (call->deadline == GW_FOREVER && call->diagnoses && !call->socket->diagnosed &&
            !call->diagnose_at)
        call->diagnose_at = wait_now() + (int64_t)GW_SLOW_WAIT * 1000000;
    if (!call->diagnose_at) return GW_FOREVER;
    return call->deadline == GW_FOREVER || call->diagnose_at < call->deadline ? call->diagnose_at
                                                                              : GW_FOREVER;
}

/* Finds the reason of a slow wait: Ruby code runs (Socket#_diagnose). */
static void wait_diagnose(gw_call_t *call) {
    bool may_time_out = call->deadline != GW_FOREVER;
    if (!may_time_out) call->socket->diagnosed = true;
    call->diagnose_at = may_time_out ? call->diagnose_at + call->diagnose_again : 0;
    call->diagnose_again += call->diagnose_again / 2;
    if (RTEST(rb_funcall(call->self, id_diagnose, 1, RBOOL(may_time_out))))
        call->socket->diagnosing = true;
}

static void wait_check_socket(gw_call_t *call) {
    gw_socket_t *socket = call->socket;
    if (socket->state == GW_IN_PROXY) gw_raise_busy(call->operation, call->self);
    if (socket->state != GW_OPEN) gw_raise_closed(call->operation, call->self);
}

/* Waits; returns true if the caller must try again. The caller has just got EAGAIN, and has emptied
 * libzmq's mailbox by a receive or by a read of ZMQ_EVENTS. No other thread has run since then. */
bool gw_wait_on(gw_call_t *call, short events, int fd) {
    gw_socket_t *socket = call->socket;
    bool again, messages = fd == socket->fd;
    if (call->deadline == 0) return false;
    /* The descriptor of a thread-safe type stays readable after a call has received a message. The
     * read of the descriptor may consume a newer signal, so the caller tries once more. */
    if (RB_UNLIKELY(socket->poller != NULL) && messages && gw_clear_signal(socket)) return true;
    gw_wait_queue_t *queue = messages ? &socket->queue : &socket->monitor_waiters;
    if (RB_UNLIKELY(socket->monitor != NULL) && messages) gw_monitor_drain_when_due(socket);
    const gw_deadline_t end = call->deadline, next = wait_next_diagnosis(call);
    if (next != GW_FOREVER) call->deadline = next;
    int state = wait_in_queue(queue, call, events, fd, messages, &again);
    call->deadline = end;
    if (gw_socket_forked(socket)) {
        if (state) rb_jump_tag(state);
        gw_raise_forked(call->operation, call->self);
    }
    if (!queue->first) queue->emptied(queue);
    if (state) rb_jump_tag(state);
    if (socket->state != GW_OPEN && call->quiet) return again || !wait_passed(call->deadline);
    wait_check_socket(call);
    if (!again && next != GW_FOREVER && wait_passed(next)) {
        wait_diagnose(call);
        if (gw_socket_forked(socket)) gw_raise_forked(call->operation, call->self);
        wait_check_socket(call);
        return true;
    }
    if (again || !wait_passed(end)) return true;
    socket->fruitless = call->diagnose_at != 0;
    return false;
}

bool gw_wait(gw_call_t *call, short events) { return gw_wait_on(call, events, call->socket->fd); }

bool gw_wait_fd(VALUE self, const char *operation, int fd, gw_deadline_t deadline) {
    gw_call_t call = {.self = self, .operation = operation, .deadline = deadline};
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    bool again;
    while (poll(&readable, 1, 0) == 0) {
        if (wait_passed(deadline)) return false;
        int state = wait_in_queue(NULL, &call, 0, fd, false, &again);
        if (state) rb_jump_tag(state);
    }
    return true;
}

/* ---- pollers (ADR 13) ---- */

/* Returns whether Linux refused to add the poller's epoll to another epoll. Linux allows 500 epolls
 * that contain one epoll, and 100 if a fiber scheduler's epoll contains these. */
static bool wait_too_many_epolls(void) {
    VALUE error = rb_errinfo();
    if (!RB_TYPE_P(error, T_OBJECT)) return false; /* a kill or a throw, not an exception */
    return RTEST(rb_obj_is_kind_of(error, rb_const_get(rb_mErrno, rb_intern("EINVAL")))) ||
            RTEST(rb_obj_is_kind_of(error, rb_const_get(rb_mErrno, rb_intern("ELOOP"))));
}

bool gw_wait_poller(gw_call_t *call, gw_poller_t *poller) {
    bool again;
    if (call->deadline == 0) return false;
    int state = wait_in_queue(&poller->queue, call, ZMQ_POLLIN, poller->epoll_fd, true, &again);
    if (gw_forked(poller->generation)) {
        if (state) rb_jump_tag(state);
        gw_raise_forked(call->operation, call->self);
    }
    if (poller->state != GW_OPEN) {
        gw_wait_queue_close_spares(&poller->queue);
        if (!poller->queue.first) poller->queue.emptied(&poller->queue);
        if (state) rb_jump_tag(state);
        gw_raise_closed(call->operation, call->self);
    }
    if (state && wait_too_many_epolls()) {
        rb_set_errinfo(Qnil);
        gw_raise_detail("PollerError", call->operation,
                "too many fibers wait on it, for Linux allows some 100: let one wait and tell the "
                "others, or make more pollers");
    }
    if (state) rb_jump_tag(state);
    return again || !wait_passed(call->deadline);
}

bool gw_yield_turn(unsigned *calls) {
    if (RB_LIKELY(++*calls < GW_YIELD_EVERY)) return false;
    *calls = 0;
    VALUE scheduler = rb_fiber_scheduler_current();
    if (NIL_P(scheduler)) return false;
    rb_fiber_scheduler_kernel_sleep(scheduler, INT2FIX(0));
    return true;
}

void gw_init_wait(void) {
    gw_after_fork(wait_after_fork);
    id_for_fd = rb_intern("for_fd");
    id_diagnose = rb_intern("_diagnose");
    guard_class = rb_class_new(rb_cObject);
    rb_undef_alloc_func(guard_class);
    rb_gc_register_mark_object(guard_class);
}
