/* A poller has a watch for each socket and IO. Its epoll contains all watches; its list `due` has
 * those to poll before the next wait. Every function needs the GVL. */
#include "wait.h"
#include <stdlib.h>
#include <sys/epoll.h>

void gw_watch_settle(gw_watch_t *watch) {
    gw_poller_t *poller = watch->poller;
    if (!watch->due) return;
    watch->due = false;
    if (watch->prev_due) watch->prev_due->next_due = watch->next_due;
    else poller->due = watch->next_due;
    if (watch->next_due) watch->next_due->prev_due = watch->prev_due;
    else poller->last_due = watch->prev_due;
    watch->prev_due = watch->next_due = NULL;
}

static int watches_compare(const void *serial, const void *watch) {
    uint64_t wanted = *(const uint64_t *)serial, found = (*(gw_watch_t *const *)watch)->serial;
    return (wanted > found) - (wanted < found);
}

void gw_watches_collect(gw_poller_t *poller) {
    enum { MOST = 64 };
    struct epoll_event events[MOST];
    int count;
    do {
        count = epoll_wait(poller->epoll_fd, events, MOST, 0);
        for (int i = 0; i < count; i++) {
            uint64_t serial = events[i].data.u64;
            gw_watch_t **found = bsearch(&serial, poller->watches, poller->count,
                    sizeof *poller->watches, watches_compare);
            if (found) gw_watch_touch(*found); /* a missing watch was removed after the event */
        }
    } while (count == MOST);
}

/* Adds the descriptor to the epoll, edge-triggered; a ZMQ_FD for reading and writing. An eventfd is
 * always writable, so the epoll reports each edge, also one that another call has consumed. Returns
 * an errno. */
int gw_watch_attach(gw_watch_t *watch, int fd) {
    struct epoll_event event = {.events = EPOLLET, .data.u64 = watch->serial};
    if (watch->socket || watch->events & ZMQ_POLLIN) event.events |= EPOLLIN | EPOLLRDHUP;
    if (watch->socket || watch->events & ZMQ_POLLOUT) event.events |= EPOLLOUT;
    if (epoll_ctl(watch->poller->epoll_fd, fd == watch->fd ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd,
                &event) == 0)
        watch->fd = fd;
    /* EPERM: epoll refuses a plain file. Such a file is always ready, so it stays in `due`. */
    else if (errno != EPERM || watch->socket) return errno;
    return 0;
}

/* Removes the watch from the epoll. A close of the descriptor is not enough while a forked child
 * has the descriptor open. */
void gw_watch_detach(gw_watch_t *watch) {
    if (watch->fd >= 0) epoll_ctl(watch->poller->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
    watch->fd = -1;
}

void gw_watches_detach(gw_socket_t *socket) {
    for (gw_watch_t *watch = socket->watches; watch; watch = watch->next) gw_watch_detach(watch);
}

/* Attaches the socket's watches. If that fails, the poller's next poll tries again and raises. */
void gw_watches_attach(gw_socket_t *socket) {
    for (gw_watch_t *watch = socket->watches; watch; watch = watch->next) {
        gw_watch_detach(watch);
        gw_watch_attach(watch, socket->fd);
    }
}

void gw_watches_forget(gw_socket_t *socket) {
    for (gw_watch_t *watch = socket->watches; watch; watch = watch->next) watch->socket = NULL;
    socket->watches = NULL;
}

void gw_watch_unlink(gw_watch_t *watch) {
    if (!watch->socket) return;
    gw_watch_t **link = &watch->socket->watches;
    while (*link != watch) link = &(*link)->next;
    *link = watch->next;
    watch->socket = NULL;
}

void gw_watches_free(gw_poller_t *poller) {
    for (long i = 0; i < poller->count; i++) {
        gw_watch_unlink(poller->watches[i]);
        xfree(poller->watches[i]);
    }
    xfree(poller->watches);
    poller->watches = NULL;
    poller->count = poller->ios = 0;
    poller->due = poller->last_due = NULL;
}
