/* The dynamic linker puts these functions before libzmq's (LD_PRELOAD). They delay calls of libzmq,
 * so that libzmq's threads run at moments in which the extension could lose a race. They change no
 * result. The environment has each delay in microseconds:
 *
 * WINDOW_EVENTS  before ZMQ_EVENTS is read
 * WINDOW_AFTER   after a receive that found nothing, and after ZMQ_EVENTS was read
 * WINDOW_PARTS   after a frame of a message that is not its last
 * WINDOW_ANY     before one call in four: a random delay of at most that
 * WINDOW_RESOLVE before a host name is resolved, as if its name server did not answer
 * WINDOW_BIND    after a bind whose name was taken; WINDOW_BOUND: after a bind that succeeded
 * WINDOW_HANDOVER after a thread of libzmq has woken another one
 *
 * windows_mid_message() counts how often a send in mid-message gave EAGAIN, windows_looks() how
 * often the calling thread read ZMQ_EVENTS or checked for edges, windows_sends() how often it
 * tried to send a frame, windows_closed_under_wait() how many sockets were closed while a thread
 * slept on their descriptor. windows_signal(number): the next receive gets that signal. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

enum { DESCRIPTORS = 4096 };

static atomic_long mid_message, closed_under_wait;
static atomic_int sleepers[DESCRIPTORS]; /* threads that sleep on each descriptor */
static atomic_int signal_to_get;
static _Thread_local void *begun; /* the socket that this thread is in mid-message on */
static _Thread_local unsigned seed = 1;
static _Thread_local long looks, sends;

static long microseconds(const char *name) {
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

static void pass_time(long us) {
    int error = errno;
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    if (us > 0) nanosleep(&time, NULL);
    errno = error;
}

static void pass_any(void) {
    long most = microseconds("WINDOW_ANY");
    if (most > 0 && rand_r(&seed) % 4 == 0) pass_time(rand_r(&seed) % (most + 1));
}

long windows_mid_message(void) { return mid_message; }

long windows_looks(void) { return looks; }

long windows_sends(void) { return sends; }

long windows_closed_under_wait(void) { return closed_under_wait; }

void windows_signal(int number) { signal_to_get = number; }

int zmq_getsockopt(void *socket, int option, void *value, size_t *size) {
    static int (*next)(void *, int, void *, size_t *);
    if (!next) next = dlsym(RTLD_NEXT, "zmq_getsockopt");
    if (option == ZMQ_EVENTS) {
        looks++;
        pass_time(microseconds("WINDOW_EVENTS"));
    }
    pass_any();
    int rc = next(socket, option, value, size);
    if (option == ZMQ_EVENTS) pass_time(microseconds("WINDOW_AFTER"));
    return rc;
}

int zmq_msg_recv(zmq_msg_t *message, void *socket, int flags) {
    static int (*next)(zmq_msg_t *, void *, int);
    if (!next) next = dlsym(RTLD_NEXT, "zmq_msg_recv");
    pass_any();
    int number = atomic_exchange(&signal_to_get, 0);
    if (number) raise(number);
    int size = next(message, socket, flags);
    if (size < 0) pass_time(microseconds("WINDOW_AFTER"));
    return size;
}

/* Counts a send that gave EAGAIN in mid-message. Returns `sent`, the result of the frame's send. */
static int sent_frame(int sent, void *socket, int flags) {
    if (sent < 0 && errno == EAGAIN && begun == socket) mid_message++;
    begun = sent >= 0 && (flags & ZMQ_SNDMORE) ? socket : NULL;
    if (begun) pass_time(microseconds("WINDOW_PARTS"));
    return sent;
}

int zmq_msg_send(zmq_msg_t *message, void *socket, int flags) {
    static int (*next)(zmq_msg_t *, void *, int);
    if (!next) next = dlsym(RTLD_NEXT, "zmq_msg_send");
    pass_any();
    sends++;
    return sent_frame(next(message, socket, flags), socket, flags);
}

int zmq_send(void *socket, const void *data, size_t size, int flags) {
    static int (*next)(void *, const void *, size_t, int);
    if (!next) next = dlsym(RTLD_NEXT, "zmq_send");
    return sent_frame(next(socket, data, size, flags), socket, flags);
}

int zmq_bind(void *socket, const char *endpoint) {
    static int (*next)(void *, const char *);
    if (!next) next = dlsym(RTLD_NEXT, "zmq_bind");
    int rc = next(socket, endpoint);
    if (rc < 0 && errno == EADDRINUSE) pass_time(microseconds("WINDOW_BIND"));
    if (rc == 0) pass_time(microseconds("WINDOW_BOUND"));
    return rc;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
        struct addrinfo **found) {
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!next) next = dlsym(RTLD_NEXT, "getaddrinfo");
    if (node && strstr(node, ".invalid"))
        pass_time(microseconds("WINDOW_RESOLVE")); /* Java itself resolves other names */
    return next(node, service, hints, found);
}

int epoll_wait(int fd, struct epoll_event *events, int most, int timeout) {
    static int (*next)(int, struct epoll_event *, int, int);
    if (!next) next = dlsym(RTLD_NEXT, "epoll_wait");
    looks++;
    return next(fd, events, most, timeout);
}

/* libzmq wakes a thread by writing a number to its eventfd. */
ssize_t write(int fd, const void *data, size_t size) {
    static ssize_t (*next)(int, const void *, size_t);
    if (!next) next = dlsym(RTLD_NEXT, "write");
    ssize_t written = next(fd, data, size);
    long us = size == sizeof(long) ? microseconds("WINDOW_HANDOVER") : 0;
    char name[16] = "";
    if (us > 0 && prctl(PR_GET_NAME, name) == 0 && strncmp(name, "ZMQbg", 5) == 0) pass_time(us);
    return written;
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask) {
    static int (*next)(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
    if (!next) next = dlsym(RTLD_NEXT, "ppoll");
    int fd = count > 0 ? fds[0].fd : -1;
    bool counts = fd >= 0 && fd < DESCRIPTORS;
    if (counts) sleepers[fd]++;
    int ready = next(fds, count, timeout, mask);
    int error = errno;
    if (counts) sleepers[fd]--;
    errno = error;
    return ready;
}

int zmq_close(void *socket) {
    static int (*next)(void *);
    if (!next) next = dlsym(RTLD_NEXT, "zmq_close");
    int fd = -1;
    size_t size = sizeof fd;
    if (zmq_getsockopt(socket, ZMQ_FD, &fd, &size) == 0 && fd >= 0 && fd < DESCRIPTORS &&
            sleepers[fd] > 0)
        closed_under_wait++;
    return next(socket);
}
