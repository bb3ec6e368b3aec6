/* The process's libzmq contexts, and the threads (reapers) that end them. Callers need no lock. */
#include "core.h"
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>

static atomic_flag contexts_lock = ATOMIC_FLAG_INIT;
static gw_context_t *contexts;

/* A forked child forgets the inherited contexts: it has none of libzmq's threads, and the
 * descriptors belong to the parent. */
static void native_context_after_fork(void) {
    contexts = NULL;
    atomic_flag_clear(&contexts_lock);
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
    atomic_init(&context->opens, 1);
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

static void native_context_forget(gw_context_t *context) {
    gw_spin_lock(&contexts_lock);
    for (gw_context_t **link = &contexts; *link; link = &(*link)->next) {
        if (*link != context) continue;
        *link = context->next;
        break;
    }
    gw_spin_unlock(&contexts_lock);
    gw_event_signal(context->done_fd);
}

/* Runs on a thread of its own, the reaper: linger or a name server can delay zmq_ctx_term. */
static void *native_context_terminate(void *argument) {
    gw_context_t *context = argument;
    gw_inproc_terminate(context);
    while (zmq_ctx_term(context->zmq) != 0 && errno == EINTR) continue;
    native_context_forget(context);
    gw_context_release(context);
    return NULL;
}

void gw_context_close(gw_context_t *context, const void *vm) {
    if (atomic_fetch_sub(&context->opens, 1) != 1) return;
    atomic_store(&context->closed_by, vm);
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    gw_context_retain(context); /* the reaper's reference */
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the reaper gets no signals, Ruby's threads do */
    int error = pthread_create(&thread, &attributes, native_context_terminate, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    /* If no thread can start, the context leaks, and close and exit do not wait for it. */
    if (error) native_context_forget(context);
}

void gw_context_add(gw_context_t *context, gw_link_t *socket) {
    gw_spin_lock(&context->lock);
    *socket = (gw_link_t){.next = context->sockets};
    if (socket->next) socket->next->prev = socket;
    context->sockets = socket;
    gw_spin_unlock(&context->lock);
}

void gw_context_remove(gw_context_t *context, gw_link_t *socket) {
    gw_spin_lock(&context->lock);
    if (socket->prev) socket->prev->next = socket->next;
    else context->sockets = socket->next;
    if (socket->next) socket->next->prev = socket->prev;
    gw_spin_unlock(&context->lock);
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

bool gw_contexts_await(const void *vm, int64_t start, int64_t most) {
    /* SIGCHLD or SIGWINCH must not end the wait: messages would be lost. */
    sigset_t ignored;
    sigfillset(&ignored);
    sigdelset(&ignored, SIGINT);
    sigdelset(&ignored, SIGTERM);
    sigdelset(&ignored, SIGHUP);
    sigdelset(&ignored, SIGQUIT);
    gw_context_t *context;
    struct timespec timeout;
    int64_t ms = INT64_MAX;
    gw_spin_lock(&contexts_lock);
    for (context = contexts; context; context = context->next) {
        if (atomic_load(&context->opens) != 0) continue; /* in use: no reaper terminates it yet */
        if (vm && atomic_load(&context->closed_by) != vm) continue;
        int longest = atomic_load(&context->longest_linger);
        if (longest == GW_FOREVER) longest = atomic_load(&context->exit_linger);
        if (longest != GW_FOREVER) ms = start + longest + GW_CLOSE_GRACE - gw_milliseconds_exact();
        if (ms > 0) break;
        ms = INT64_MAX; /* the context's linger is over */
    }
    if (context) gw_context_retain(context);
    gw_spin_unlock(&contexts_lock);
    if (!context) return false;
    if (most != GW_FOREVER && most < ms) ms = most;
    timeout = (struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    struct pollfd done = {.fd = context->done_fd, .events = POLLIN};
    int ready = ppoll(&done, 1, ms == INT64_MAX ? NULL : &timeout, &ignored);
    gw_context_release(context);
    return ready >= 0; /* -1: a signal came that ends the process */
}

void gw_init_native_context(void) { gw_after_fork(native_context_after_fork); }
