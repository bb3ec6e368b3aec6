/* The one place that waits (laws 1 and 2).
 *
 * ZMQ_FD is edge-triggered: any libzmq call may swallow the edge that another thread waits for. So a waiter stands in its
 * socket's list before the GVL is given up, with a wake-up of its own, and while the list is not empty every libzmq call is
 * followed by gw_settle, which wakes all waiters if there was an edge since it last looked. They try again; whom the edge did
 * not serve waits on. All lists are guarded by the GVL. ADR 1 tells why ZMQ_EVENTS is not asked instead. */
#include "godwit.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <ruby/fiber/scheduler.h>
#include <ruby/io.h>
#include <ruby/thread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { A_DAY = 86400 }; /* seconds; a wait without deadline in a fiber looks again then */

static ID id_for_fd;
static VALUE guard_class;

static int64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t
gw_milliseconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

gw_deadline_t
gw_deadline(int64_t milliseconds)
{
    if (milliseconds < 0) return GW_FOREVER;
    if (milliseconds == 0) return 0;
    int64_t start = now();
    return milliseconds > (INT64_MAX - start) / 1000000 ? GW_FOREVER : start + milliseconds * 1000000;
}

gw_call_t
gw_call(VALUE self, const char *operation, int64_t milliseconds)
{
    return (gw_call_t){
        .self = self,
        .socket = gw_socket_open(self, operation),
        .operation = operation,
        .deadline = milliseconds < 0 ? GW_FOREVER : gw_deadline(milliseconds),
    };
}

/* ---- the line of those who wait ---- */

static void
link_waiter(gw_line_t *line, gw_waiter_t *waiter)
{
    waiter->next = NULL;
    waiter->prev = line->last;
    if (line->last) line->last->next = waiter;
    else line->first = waiter;
    line->last = waiter;
}

static void
unlink_waiter(gw_line_t *line, gw_waiter_t *waiter)
{
    if (waiter->prev) waiter->prev->next = waiter->next;
    else line->first = waiter->next;
    if (waiter->next) waiter->next->prev = waiter->prev;
    else line->last = waiter->prev;
    waiter->prev = waiter->next = NULL;
}

/* Async-signal-safe: Ruby may call it from a signal handler. */
static void
signal_waiter(void *argument)
{
    gw_waiter_t *waiter = argument;
    uint64_t one = 1;
    waiter->signalled = true;
    ssize_t written = write(waiter->wake_fd, &one, sizeof one);
    (void)written; /* fails only when the counter is full, and then it is readable anyway */
}

void
gw_wake(gw_waiter_t *waiter)
{
    if (!waiter->signalled) signal_waiter(waiter);
}

void
gw_line_wake(gw_line_t *line)
{
    for (gw_waiter_t *waiter = line->first; waiter; waiter = waiter->next) gw_wake(waiter);
}

/* What changed the socket may have left no edge: pollers have to be told too. */
void
gw_wake_all(gw_socket_t *socket)
{
    gw_line_wake(&socket->line);
    for (gw_watch_t *watch = socket->watches; watch; watch = watch->next) gw_watch_touch(watch);
}

void
gw_wake_readers(gw_socket_t *socket)
{
    gw_line_wake(&socket->readers);
}

/* Whether ZMQ_FD was written or read since the last look, also when nothing is left of it: an edge-triggered epoll remembers
 * each, and reports it since the descriptor is always writable. Yes where that cannot be known. */
bool
gw_edge_passed(gw_socket_t *socket)
{
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET};
    if (socket->edge_fd < 0) {
        int fd = epoll_create1(EPOLL_CLOEXEC);
        if (fd < 0) return true;
        if (epoll_ctl(fd, EPOLL_CTL_ADD, socket->fd, &event) != 0) {
            close(fd);
            return true;
        }
        socket->edge_fd = fd;
    }
    return epoll_wait(socket->edge_fd, &event, 1, 0) != 0;
}

void
gw_settle_waiters(gw_socket_t *socket)
{
    if (socket->poller) return; /* no call swallows its signals; whoever takes one wakes all (ADR 14) */
    if (gw_edge_passed(socket)) gw_line_wake(&socket->line); /* pollers have an eye of their own on the descriptor */
}

/* ---- one waiter ---- */

static gw_waiter_t *
take_waiter(gw_line_t *line, gw_call_t *call, bool reuse)
{
    gw_waiter_t *waiter = reuse ? line->spare : NULL;
    if (waiter) {
        line->spare = waiter->next;
    }
    else {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd < 0) gw_raise(errno, call->operation, call->self, Qnil);
        waiter = ZALLOC(gw_waiter_t);
        waiter->wake_fd = fd;
        waiter->epoll_fd = -1;
        waiter->io = Qnil;
    }
    waiter->line = line;
    return waiter;
}

/* For the next wait for the same. */
static void
keep_waiter(gw_line_t *line, gw_waiter_t *waiter)
{
    uint64_t count;
    if (waiter->signalled) {
        waiter->signalled = false;
        ssize_t got = read(waiter->wake_fd, &count, sizeof count);
        (void)got;
    }
    waiter->next = line->spare;
    line->spare = waiter;
}

static void
free_waiter(gw_waiter_t *waiter)
{
    close(waiter->wake_fd); /* the epoll descriptor is its IO's, which the collector closes */
    xfree(waiter);
}

void
gw_line_free_spares(gw_line_t *line)
{
    gw_waiter_t *next;
    for (gw_waiter_t *waiter = line->spare; waiter; waiter = next) {
        next = waiter->next;
        free_waiter(waiter);
    }
    line->spare = NULL;
}

/* Their epoll descriptors go now, not when the collector comes. Not called by it. */
void
gw_line_close_spares(gw_line_t *line)
{
    int state;
    VALUE error = rb_errinfo(), ios = rb_ary_new();
    for (gw_waiter_t *waiter = line->spare; waiter; waiter = waiter->next) {
        if (!NIL_P(waiter->io)) rb_ary_push(ios, waiter->io);
    }
    gw_line_free_spares(line); /* first: other fibers may run while an IO is closed */
    for (VALUE io; !NIL_P(io = rb_ary_pop(ios));) {
        rb_protect(rb_io_close, io, &state);
        if (state) rb_set_errinfo(error);
    }
}

/* What they wait for is collected; who still waits is a fiber that is collected too, and its guard frees the waiter. */
void
gw_line_free(gw_line_t *line)
{
    gw_line_free_spares(line);
    for (gw_waiter_t *waiter = line->first; waiter; waiter = waiter->next) waiter->line = NULL;
    line->first = line->last = NULL;
}

void
gw_line_mark(gw_line_t *line)
{
    for (gw_waiter_t *waiter = line->spare; waiter; waiter = waiter->next) rb_gc_mark_movable(waiter->io);
    for (gw_waiter_t *waiter = line->first; waiter; waiter = waiter->next) rb_gc_mark_movable(waiter->io);
}

void
gw_line_compact(gw_line_t *line)
{
    for (gw_waiter_t *waiter = line->spare; waiter; waiter = waiter->next) waiter->io = rb_gc_location(waiter->io);
    for (gw_waiter_t *waiter = line->first; waiter; waiter = waiter->next) waiter->io = rb_gc_location(waiter->io);
}

size_t
gw_line_size(const gw_line_t *line)
{
    size_t size = 0;
    for (gw_waiter_t *waiter = line->spare; waiter; waiter = waiter->next) size += sizeof *waiter;
    return size;
}

long
gw_line_count(const gw_line_t *line)
{
    long count = 0;
    for (gw_waiter_t *waiter = line->first; waiter; waiter = waiter->next) count++;
    return count;
}

/* ---- waiting without a fiber scheduler ---- */

typedef struct {
    struct pollfd fds[2];
    gw_deadline_t deadline;
    int ready; /* of ppoll; -2: not reached, since an interrupt was pending */
} poll_t;

static void *
poll_both(void *argument)
{
    poll_t *poll = argument;
    struct timespec left, *timeout = NULL;
    if (poll->deadline != GW_FOREVER) {
        int64_t ns = poll->deadline - now();
        if (ns < 0) ns = 0;
        left.tv_sec = ns / 1000000000;
        left.tv_nsec = ns % 1000000000;
        timeout = &left;
    }
    poll->ready = ppoll(poll->fds, 2, timeout, NULL);
    return NULL;
}

typedef struct {
    poll_t poll;
    gw_waiter_t *waiter;
} thread_wait_t;

/* Interrupts are looked for before and after, as in Ruby's own blocking calls: one that Thread.handle_interrupt(… => :on_blocking)
 * put off is taken here, and nowhere else. */
static VALUE
wait_without_gvl(VALUE argument)
{
    thread_wait_t *wait = (thread_wait_t *)argument;
    unsigned generation = atomic_load(&gw_generation);
    rb_thread_check_ints();
    if (generation != atomic_load(&gw_generation)) return Qnil; /* a trap handler forked, and this is the child */
    rb_nogvl(poll_both, &wait->poll, signal_waiter, wait->waiter, RB_NOGVL_INTR_FAIL | RB_NOGVL_UBF_ASYNC_SAFE);
    if (wait->poll.ready <= 0 || !wait->poll.fds[0].revents) rb_thread_check_ints();
    return Qnil;
}

/* Gives the state of rb_protect: not 0 if an interrupt raised. */
static int
wait_in_thread(gw_waiter_t *waiter, int fd, gw_deadline_t deadline, bool *seen)
{
    int state = 0;
    thread_wait_t wait = {
        .poll = {
            .fds = {{.fd = fd, .events = POLLIN}, {.fd = waiter->wake_fd, .events = POLLIN}},
            .deadline = deadline,
            .ready = -2,
        },
        .waiter = waiter,
    };
    rb_protect(wait_without_gvl, (VALUE)&wait, &state);
    *seen = wait.poll.ready > 0 && wait.poll.fds[0].revents;
    return state;
}

/* ---- waiting by way of an IO: in a fiber, or in a main thread that is not alone ---- */

static void
guard_free(void *pointer)
{
    gw_waiter_t *waiter = pointer;
    if (!waiter) return;
    gw_line_t *line = waiter->line;
    if (line) {
        unlink_waiter(line, waiter);
        if (!line->first) line->left(line);
    }
    free_waiter(waiter);
}

/* Holds the waiter of a fiber, so that one that is collected while it waits (its thread died) leaves nothing behind. */
static const rb_data_type_t guard_type = {
    .wrap_struct_name = "Godwit wait",
    .function = {.dfree = guard_free}, /* no mark: the waiter's IO is marked by its line's owner; no size worth telling */
    .flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

typedef struct {
    VALUE self;
    const char *operation;
    gw_waiter_t *waiter;
    int fd;
    gw_deadline_t deadline;
    bool ready; /* false: time is up, or it never came to waiting */
} io_wait_t;

/* A child that is forked by a trap handler comes back into the main thread's wait, where Ruby would go on polling the parent's
 * descriptors. So in the child their epoll becomes a descriptor that is always readable. */
static _Thread_local gw_waiter_t *volatile main_waiter; /* of the thread that forks */

void
gw_wake_after_fork(void)
{
    if (!main_waiter || main_waiter->epoll_fd < 0) return;
    int fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0) return;
    dup2(fd, main_waiter->epoll_fd);
    close(fd);
}

/* Gives an errno. */
static int
make_io(gw_waiter_t *waiter, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (epoll_fd < 0) return errno;
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, waiter->wake_fd, &event) != 0) {
        int error = errno;
        close(epoll_fd);
        return error;
    }
    waiter->io = rb_funcall(rb_cIO, id_for_fd, 1, INT2NUM(epoll_fd)); /* owns the descriptor from here on */
    waiter->epoll_fd = epoll_fd;
    return 0;
}

static VALUE
wait_for_io(VALUE argument)
{
    io_wait_t *wait = (io_wait_t *)argument;
    VALUE timeout = INT2FIX(A_DAY); /* not nil: async 2.24 on Ruby 3.1 then asks the IO for a timeout, which it does not have */
    unsigned generation = atomic_load(&gw_generation);
    rb_thread_check_ints();
    if (generation != atomic_load(&gw_generation)) return Qnil; /* see above */
    int error = NIL_P(wait->waiter->io) ? make_io(wait->waiter, wait->fd) : 0;
    if (error) gw_raise(error, wait->operation, wait->self, Qnil);
    if (wait->deadline != GW_FOREVER) {
        int64_t ns = wait->deadline - now();
        timeout = DBL2NUM(ns > 0 ? (double)ns / 1e9 : 0.0);
    }
    wait->ready = RTEST(rb_io_wait(wait->waiter->io, INT2NUM(RUBY_IO_READABLE), timeout));
    return Qnil;
}

static int
wait_on_io(gw_call_t *call, gw_waiter_t *waiter, int fd, bool *seen)
{
    int state = 0;
    io_wait_t wait = {
        .self = call->self, .operation = call->operation, .waiter = waiter, .fd = fd, .deadline = call->deadline,
    };
    VALUE guard = TypedData_Wrap_Struct(guard_class, &guard_type, waiter);
    if (NIL_P(rb_fiber_scheduler_current())) main_waiter = waiter;
    rb_protect(wait_for_io, (VALUE)&wait, &state);
    main_waiter = NULL;
    RTYPEDDATA_DATA(guard) = NULL;
    RB_GC_GUARD(guard);
    *seen = wait.ready;
    return state;
}

/* ---- what the rest of the extension calls ---- */

static bool
passed(gw_deadline_t deadline)
{
    return deadline != GW_FOREVER && (deadline == 0 || now() >= deadline);
}

/* A fiber waits by its scheduler. So does a main thread that is not alone: while other threads run, Ruby (3.1) calls no unblock
 * function for a signal that comes between its check and our ppoll; its own wait polls for signals too. */
static bool
by_io(void)
{
    return !NIL_P(rb_fiber_scheduler_current()) || (!rb_thread_alone() && rb_thread_current() == rb_thread_main());
}

/* How many waits this thread is in without a fiber scheduler: one, or more where trap handlers wait in their turn. */
static _Thread_local int waits_of_thread;

bool
gw_wait_interrupted(void)
{
    return waits_of_thread > 0;
}

/* One wait in a line, until `fd` is readable or somebody wakes it. Gives the state of rb_protect. */
static int
stand(gw_line_t *line, gw_call_t *call, short events, int fd, bool reuse, bool *again)
{
    gw_waiter_t *waiter = take_waiter(line, call, reuse);
    waiter->events = events;
    link_waiter(line, waiter);

    bool seen;
    const int before = waits_of_thread;
    if (NIL_P(rb_fiber_scheduler_current())) waits_of_thread++;
    int state = by_io() ? wait_on_io(call, waiter, fd, &seen) : wait_in_thread(waiter, fd, call->deadline, &seen);
    waits_of_thread = before;
    if (!reuse && !NIL_P(waiter->io)) { /* still in line, since others may run; the collector would be late for who waits often */
        int error = 0;
        rb_protect(rb_io_close, waiter->io, &error);
        if (!state) state = error;
    }

    *again = seen || waiter->signalled; /* what came in the last moment is still taken */
    unlink_waiter(line, waiter);
    if (reuse) keep_waiter(line, waiter);
    else free_waiter(waiter);
    return state;
}

/* Call it only when libzmq has just said EAGAIN with its mailbox drained (a failed receive, or ZMQ_EVENTS read after a
 * failed send), with nothing in between that could give up the GVL. True: try again. False: the deadline has passed. */
bool
gw_wait_on(gw_call_t *call, short events, int fd)
{
    gw_socket_t *socket = call->socket;
    bool again;
    if (call->deadline == 0) return false;
    /* A thread-safe socket's descriptor is still readable for what the last calls have seen. To read it now might swallow a signal
     * that came since the mailbox was drained, so the caller tries once more; a second time there is nothing to read. */
    if (RB_UNLIKELY(socket->poller != NULL) && fd == socket->fd && gw_draft_take_signal(socket)) return true;

    bool reader = fd != socket->fd;
    if (RB_UNLIKELY(socket->monitor != NULL) && !reader) gw_monitor_look(socket);
    int state = stand(reader ? &socket->readers : &socket->line, call, events, fd, !reader, &again);
    if (gw_socket_forked(socket)) {
        if (state) rb_jump_tag(state);
        gw_raise_forked(call->operation, call->self);
    }
    gw_socket_left(socket);
    if (state) rb_jump_tag(state);
    if (socket->state != GW_OPEN && call->quiet) return again || !passed(call->deadline);
    if (socket->state == GW_LENT) gw_raise_busy(call->operation, call->self);
    if (socket->state != GW_OPEN) gw_raise_closed(call->operation, call->self);
    return again || !passed(call->deadline);
}

bool
gw_wait(gw_call_t *call, short events)
{
    return gw_wait_on(call, events, call->socket->fd);
}

/* For the end of a context: the descriptor of its reaper, no socket. */
bool
gw_wait_fd(VALUE self, const char *operation, int fd, gw_deadline_t deadline)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};
    while (poll(&look, 1, 0) == 0) {
        if (passed(deadline)) return false;
        int state = 0;
        bool seen;
        gw_waiter_t waiter = {.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), .epoll_fd = -1, .io = Qnil};
        if (waiter.wake_fd < 0 && (errno == EMFILE || errno == ENFILE)) {
            rb_gc(); /* as Ruby does for its files: contexts that are closed hold one each until they are collected */
            waiter.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        }
        if (waiter.wake_fd < 0) gw_raise(errno, operation, self, Qnil);
        if (!by_io()) {
            state = wait_in_thread(&waiter, fd, deadline, &seen);
        }
        else {
            io_wait_t wait = {
                .self = self, .operation = operation, .waiter = &waiter, .fd = fd, .deadline = deadline,
            };
            rb_protect(wait_for_io, (VALUE)&wait, &state);
            int failed = 0;
            if (!NIL_P(waiter.io)) rb_protect(rb_io_close, waiter.io, &failed);
            if (!state) state = failed;
        }
        close(waiter.wake_fd);
        if (state) rb_jump_tag(state);
    }
    return true;
}

/* ---- waiting for many: pollers (ADR 13) ---- */

/* Linux allows 500 epolls over one that holds others, and 100 where a scheduler has an epoll of its own over them. */
static bool
too_many_epolls(void)
{
    VALUE error = rb_errinfo();
    if (!RB_TYPE_P(error, T_OBJECT)) return false; /* a kill or a throw */
    return RTEST(rb_obj_is_kind_of(error, rb_const_get(rb_mErrno, rb_intern("EINVAL")))) || RTEST(rb_obj_is_kind_of(error, rb_const_get(rb_mErrno, rb_intern("ELOOP"))));
}

bool
gw_group_wait(gw_call_t *call, gw_group_t *group)
{
    bool again;
    if (call->deadline == 0) return false;
    int state = stand(&group->line, call, ZMQ_POLLIN, group->epoll_fd, true, &again);
    if (group->generation != atomic_load(&gw_generation)) {
        if (state) rb_jump_tag(state);
        gw_raise_forked(call->operation, call->self);
    }
    if (group->state != GW_OPEN) {
        gw_line_close_spares(&group->line);
        if (!group->line.first && group->state == GW_CLOSING) gw_group_release(group);
        if (state) rb_jump_tag(state);
        gw_raise_closed(call->operation, call->self);
    }
    if (state && too_many_epolls()) {
        rb_set_errinfo(Qnil);
        gw_raise_detail("PollerError", call->operation, rb_str_new_cstr("too many fibers wait on it, for Linux allows some 100: let one wait and tell the others, or make more pollers"));
    }
    if (state) rb_jump_tag(state);
    return again || !passed(call->deadline);
}

/* ---- fairness among fibers ---- */

bool
gw_give_turn(unsigned *turns)
{
    if (RB_LIKELY(++*turns < GW_TURNS)) return false;
    *turns = 0;
    VALUE scheduler = rb_fiber_scheduler_current();
    if (NIL_P(scheduler)) return false;
    rb_fiber_scheduler_kernel_sleep(scheduler, INT2FIX(0));
    return true;
}

void
gw_give_way(gw_call_t *call)
{
    gw_socket_t *socket = call->socket;
    if (RB_UNLIKELY(socket->monitor != NULL) && socket->turns + 1 >= GW_TURNS) gw_monitor_look(socket);
    if (gw_give_turn(&socket->turns)) call->socket = gw_socket_open(call->self, call->operation); /* it may have been closed meanwhile */
}

void
gw_init_wait(void)
{
    id_for_fd = rb_intern("for_fd");
    guard_class = rb_class_new(rb_cObject);
    rb_undef_alloc_func(guard_class);
    rb_gc_register_mark_object(guard_class);
}
