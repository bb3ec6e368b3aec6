/* At the end of a process, prints a line about unsent messages. libzmq does not count them, but it
 * closes the eventfd of a closed socket that has sent all its messages. The lock guards the list,
 * since several Ractors close sockets. */
#include "socket.h"
#include <ruby/vm.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

enum {
    SHORTEST = 200, /* ms: a program with a shorter linger accepts a loss */
    LATE = 100,     /* ms before the linger's end: a socket that still exists is marked `late` */
    BEFORE_END = 10 /* ms before the linger's end: print the line, before libzmq drops messages */
};

/* A closed socket that has sent messages. */
typedef struct lingering {
    struct lingering *next;
    long sent;
    int64_t until; /* ms, when the linger ends */
    int linger;    /* ms */
    int fd;        /* borrowed from libzmq, which may have closed it */
    bool late;     /* the socket still existed LATE ms before the linger's end */
    char names[];
} lingering_t;

static atomic_flag list_lock = ATOMIC_FLAG_INIT;
static lingering_t *list; /* owned */
static int epoll_fd = -1; /* owned: has the descriptors of `list` that libzmq has not closed */
static atomic_bool silent;

static void unsent_after_fork(void) {
    list = NULL;
    if (epoll_fd >= 0) close(epoll_fd);
    epoll_fd = -1;
    atomic_flag_clear(&list_lock);
}

static bool unsent_lingers(const lingering_t *one, int operation) {
    struct epoll_event none = {.events = 0};
    return epoll_ctl(epoll_fd, operation, one->fd, &none) == 0;
}

static void unsent_unlink(lingering_t **link) {
    lingering_t *one = *link;
    *link = one->next;
    free(one);
}

void gw_unsent_closed(gw_socket_t *socket) {
    int linger = 0;
    size_t size = sizeof linger;
    if (!gw_sent(socket) || !socket->names || socket->poller) return;
    if (gw_zmq_get(socket->zmq, ZMQ_LINGER, &linger, &size) || linger < SHORTEST) return;
    lingering_t *one = malloc(sizeof *one + strlen(socket->names) + 1);
    if (!one) return;
    *one = (lingering_t){.sent = gw_sent(socket), .linger = linger, .fd = socket->fd};
    one->until = gw_milliseconds_exact() + linger;
    strcpy(one->names, socket->names);
    gw_spin_lock(&list_lock);
    if (epoll_fd < 0) epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    for (lingering_t **link = &list; *link;) {
        if (unsent_lingers(*link, EPOLL_CTL_MOD)) link = &(*link)->next;
        else unsent_unlink(link);
    }
    if (unsent_lingers(one, EPOLL_CTL_ADD)) {
        one->next = list;
        list = one;
    } else {
        free(one);
    }
    gw_spin_unlock(&list_lock);
}

void gw_unsent_forget(gw_socket_t *socket) {
    free(socket->names);
    socket->names = NULL;
}

void gw_unsent_attached(gw_socket_t *socket, const char *endpoint) {
    if (gw_inproc(endpoint)) return;
    size_t before = socket->names ? strlen(socket->names) : 0, more = strlen(endpoint);
    char *names = realloc(socket->names, before + more + 3);
    if (!names) return;
    socket->names = names;
    sprintf(names + before, "%s%s", before ? ", " : "", endpoint);
}

/* Returns whether the socket has unsent messages at the end of its linger. `late` is enough: a
 * process without processor time may run this check after libzmq has closed the descriptor. */
static bool unsent_remains(const lingering_t *one, int64_t now) {
    return one->until - BEFORE_END <= now && (one->late || unsent_lingers(one, EPOLL_CTL_MOD));
}

static void unsent_print(long sent, const lingering_t *one) {
    char line[1024];
    const char *few = sent == 1 ? "" : "up to ", *s = sent == 1 ? "" : "s";
    int size = snprintf(line, sizeof line,
            "godwit: %s%ld message%s for %.800s %s not sent within %g s (linger: 0 skips the wait; "
            "Godwit.warn_unsent = false hides this line)\n",
            few, sent, s, one->names, sent == 1 ? "was" : "were", one->linger / 1000.0);
    ssize_t written = write(STDERR_FILENO, line, size);
    (void)written;
}

/* Adds up the messages of all sockets with the endpoints of `first` whose linger ends now. */
static long unsent_sum(lingering_t *first) {
    long sent = first->sent;
    for (lingering_t **link = &first->next; *link;) {
        if (strcmp((*link)->names, first->names) == 0 && unsent_remains(*link, first->until)) {
            sent += (*link)->sent;
            unsent_unlink(link);
        } else {
            link = &(*link)->next;
        }
    }
    return sent;
}

/* Reports the sockets whose linger ends now. Returns ms to the next check, or GW_FOREVER. */
static int64_t unsent_report(void) {
    int64_t now = gw_milliseconds_exact(), next = GW_FOREVER, due;
    for (lingering_t **link = &list; *link;) {
        lingering_t *one = *link;
        int64_t remaining = one->until - now;
        bool lingers = unsent_lingers(one, EPOLL_CTL_MOD);
        if (lingers && remaining > BEFORE_END) {
            one->late = remaining <= LATE;
            due = remaining - (one->late ? BEFORE_END : LATE);
            if (next == GW_FOREVER || due < next) next = due;
            link = &one->next;
            continue;
        }
        if (unsent_remains(one, now) && !atomic_load(&silent)) unsent_print(unsent_sum(one), one);
        unsent_unlink(link);
    }
    return next;
}

static VALUE unsent_set_warning(VALUE module, VALUE wanted) {
    atomic_store(&silent, !RTEST(wanted));
    return wanted;
}

/* Ruby calls this function without the GVL, after it has ended the other threads and freed all
 * objects. The objects' free functions have closed the open sockets. */
static void unsent_at_exit(ruby_vm_t *vm) {
    int64_t start = gw_milliseconds_exact();
    while (gw_contexts_await(NULL, start, unsent_report())) continue;
}

void gw_init_unsent(VALUE native) {
    gw_after_fork(unsent_after_fork);
    ruby_vm_at_exit(unsent_at_exit);
    rb_define_module_function(native, "warn_unsent", unsent_set_warning, 1);
}
