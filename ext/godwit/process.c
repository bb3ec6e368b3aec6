/* What belongs to the process: the fork counter, its native contexts, the reaper that terminates
 * them, and the wait for it at exit. Needs no lock. */
#include "core.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

atomic_uint gw_generation = 1;

/* Registered by higher layers, at load. */
static void (*after_fork[4])(void);
static int forks;
static void (*before_termination)(gw_context_t *context);
static int64_t (*while_exiting)(void);

static atomic_flag contexts_lock = ATOMIC_FLAG_INIT;
static gw_context_t *contexts;

void gw_context_lock(gw_context_t *context) { gw_spin_lock(&context->lock); }
void gw_context_unlock(gw_context_t *context) { gw_spin_unlock(&context->lock); }

/* The child forgets the inherited contexts: it has none of libzmq's threads, and the descriptors
 * belong to the parent. */
static void process_in_forked_child(void) {
    atomic_fetch_add(&gw_generation, 1);
    contexts = NULL;
    atomic_flag_clear(&contexts_lock);
    for (int i = 0; i < forks; i++) after_fork[i]();
}

gw_context_t *gw_context_create(void) {
    gw_context_t *context = calloc(1, sizeof *context);
    if (!context) {
        errno = ENOMEM;
        return NULL;
    }
    context->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (context->done_fd < 0) goto fail;
    context->zmq = zmq_ctx_new();
    if (!context->zmq) goto fail;
    context->generation = gw_generation;
    atomic_init(&context->refs, 1);
    atomic_init(&context->holders, 1);
    atomic_init(&context->exit_linger, GW_FOREVER);
    atomic_flag_clear(&context->lock);
    gw_threads_init(&context->threads);

    gw_context_set_max_sockets(context, GW_MAX_SOCKETS);

    gw_spin_lock(&contexts_lock);
    context->next = contexts;
    contexts = context;
    gw_spin_unlock(&contexts_lock);
    return context;

fail:;
    int error = errno;
    if (context->done_fd >= 0) close(context->done_fd);
    free(context);
    errno = error;
    return NULL;
}

void gw_context_retain(gw_context_t *context) { atomic_fetch_add(&context->refs, 1); }

void gw_context_release(gw_context_t *context) {
    if (atomic_fetch_sub(&context->refs, 1) != 1) return;
    close(context->done_fd);
    free(context);
}

static void process_forget(gw_context_t *context) {
    gw_spin_lock(&contexts_lock);
    for (gw_context_t **link = &contexts; *link; link = &(*link)->next) {
        if (*link != context) continue;
        *link = context->next;
        break;
    }
    gw_spin_unlock(&contexts_lock);
    gw_event_signal(context->done_fd);
}

/* Runs on its own thread: linger or a name server can hold zmq_ctx_term. */
static void *process_terminate(void *argument) {
    gw_context_t *context = argument;
    before_termination(context);
    while (zmq_ctx_term(context->zmq) != 0 && errno == EINTR) continue;
    atomic_store(&context->terminated, true);
    process_forget(context);
    gw_context_release(context);
    return NULL;
}

void gw_context_leave(gw_context_t *context, const void *vm) {
    if (atomic_fetch_sub(&context->holders, 1) != 1) return;
    atomic_store(&context->left_by, vm);
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    gw_context_retain(context); /* for the reaper */
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* Ruby's threads handle the signals */
    int error = pthread_create(&thread, &attributes, process_terminate, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    /* Without a thread the context leaks, and close and exit do not wait for it. */
    if (error) process_forget(context);
}

int gw_context_set_max_sockets(gw_context_t *context, int count) {
    int slots = count > GW_MAX_SOCKET_SLOTS / GW_SOCKET_SLOTS ? GW_MAX_SOCKET_SLOTS
                                                              : GW_SOCKET_SLOTS * count;
    if (zmq_ctx_set(context->zmq, ZMQ_MAX_SOCKETS, slots) != 0) return errno;
    atomic_store(&context->max_sockets, count);
    return 0;
}

void gw_context_record_linger(gw_context_t *context, int linger) {
    int longest = atomic_load(&context->longest_linger);
    while (longest != GW_FOREVER && (linger == GW_FOREVER || linger > longest)) {
        if (atomic_compare_exchange_weak(&context->longest_linger, &longest, linger)) break;
    }
}

/* Waits for the linger of closed sockets, at exit. Calls nothing of a VM. */
void gw_contexts_await(const void *vm) {
    int64_t start = gw_nanoseconds(CLOCK_MONOTONIC) / 1000000;
    /* SIGCHLD or SIGWINCH must not end the wait: messages would be lost. */
    sigset_t ignored;
    sigfillset(&ignored);
    sigdelset(&ignored, SIGINT);
    sigdelset(&ignored, SIGTERM);
    sigdelset(&ignored, SIGHUP);
    sigdelset(&ignored, SIGQUIT);
    for (;;) {
        gw_context_t *context;
        struct timespec left, *timeout = NULL;
        int64_t due = while_exiting ? while_exiting() : GW_FOREVER;
        gw_spin_lock(&contexts_lock);
        for (context = contexts; context; context = context->next) {
            if (atomic_load(&context->holders) != 0) continue; /* not given to its reaper */
            if (vm && atomic_load(&context->left_by) != vm) continue;
            int longest = atomic_load(&context->longest_linger);
            if (longest == GW_FOREVER) longest = atomic_load(&context->exit_linger);
            int64_t ms = longest == GW_FOREVER ? INT64_MAX
                                               : start + longest + GW_CLOSE_GRACE -
                            gw_nanoseconds(CLOCK_MONOTONIC) / 1000000;
            if (ms <= 0) continue; /* its time is up */
            if (due != GW_FOREVER && due < ms) ms = due;
            if (ms == INT64_MAX) break;
            left.tv_sec = ms / 1000;
            left.tv_nsec = ms % 1000 * 1000000;
            timeout = &left;
            break;
        }
        if (context) gw_context_retain(context);
        gw_spin_unlock(&contexts_lock);
        if (!context) return;
        struct pollfd done = {.fd = context->done_fd, .events = POLLIN};
        if (ppoll(&done, 1, timeout, &ignored) < 0) return; /* by a signal that ends the process */
        gw_context_release(context);
    }
}

/* libzmq aborts the process when it finds no descriptor for its threads or to look up an address.
 * So Godwit opens that many first. */
int gw_descriptors(int needed) {
    int *fds = malloc(needed * sizeof *fds), count = 0, error = 0;
    if (!fds) return ENOMEM;
    while (count < needed && !error) {
        int fd = eventfd(0, EFD_CLOEXEC);
        if (fd < 0) error = errno;
        else fds[count++] = fd;
    }
    while (count > 0) close(fds[--count]);
    free(fds);
    return error;
}

void gw_after_fork(void (*function)(void)) { after_fork[forks++] = function; }
void gw_while_exiting(int64_t (*function)(void)) { while_exiting = function; }
void gw_before_termination(void (*function)(gw_context_t *)) { before_termination = function; }

void gw_init_process(void) { pthread_atfork(NULL, NULL, process_in_forked_child); }
