/* Stands before libzmq (LD_PRELOAD) and makes the moments wide in which a race can be lost: between two calls of the extension,
 * while it holds Ruby's lock, libzmq's own threads get time to do something. It changes no answer. Each is a number of
 * microseconds in the environment:
 *
 * WINDOW_EVENTS  before ZMQ_EVENTS is read
 * WINDOW_PARTS   after a part of a message that is not its last
 * WINDOW_ANY     before one call in four, up to so many
 * WINDOW_RESOLVE before a host name is resolved, as if its name server did not answer
 *
 * windows_mid_message() counts how often libzmq said EAGAIN in mid-message. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <zmq.h>

static atomic_long mid_message;
static _Thread_local void *begun; /* the socket whose last frame had more to come */
static _Thread_local unsigned seed = 1;

static long
microseconds(const char *name)
{
    const char *value = getenv(name);
    return value ? atol(value) : 0;
}

static void
pass_time(long us)
{
    int error = errno;
    struct timespec time = {us / 1000000, us % 1000000 * 1000};
    if (us > 0) nanosleep(&time, NULL);
    errno = error;
}

static void
pass_any(void)
{
    long most = microseconds("WINDOW_ANY");
    if (most > 0 && rand_r(&seed) % 4 == 0) pass_time(rand_r(&seed) % (most + 1));
}

long
windows_mid_message(void)
{
    return mid_message;
}

int
zmq_getsockopt(void *socket, int option, void *value, size_t *size)
{
    static int (*next)(void *, int, void *, size_t *);
    if (!next) next = dlsym(RTLD_NEXT, "zmq_getsockopt");
    if (option == ZMQ_EVENTS) pass_time(microseconds("WINDOW_EVENTS"));
    pass_any();
    return next(socket, option, value, size);
}

int
zmq_msg_recv(zmq_msg_t *message, void *socket, int flags)
{
    static int (*next)(zmq_msg_t *, void *, int);
    if (!next) next = dlsym(RTLD_NEXT, "zmq_msg_recv");
    pass_any();
    return next(message, socket, flags);
}

int
zmq_msg_send(zmq_msg_t *message, void *socket, int flags)
{
    static int (*next)(zmq_msg_t *, void *, int);
    if (!next) next = dlsym(RTLD_NEXT, "zmq_msg_send");
    pass_any();
    int sent = next(message, socket, flags);
    if (sent < 0 && errno == EAGAIN && begun == socket) mid_message++;
    begun = sent >= 0 && (flags & ZMQ_SNDMORE) ? socket : NULL;
    if (begun) pass_time(microseconds("WINDOW_PARTS"));
    return sent;
}

int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found)
{
    static int (*next)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!next) next = dlsym(RTLD_NEXT, "getaddrinfo");
    pass_time(microseconds("WINDOW_RESOLVE"));
    return next(node, service, hints, found);
}
