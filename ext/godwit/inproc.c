/* Connections over inproc to names that are not bound yet: libzmq may abort when such a name is
 * bound. So each connection gets its own endpoint, which Godwit binds briefly to complete or to end
 * the connection. The context's lock guards the list of these connections. */
#include "core.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define INPROC "inproc://"
#define ALIAS INPROC "godwit.early."
#define ZAP INPROC "zeromq.zap.01"

typedef struct gw_early {
    struct gw_early *next; /* next in the context's list, which has the order of the connects */
    const void *owner;     /* borrowed: the socket that connected; NULL: closed, messages linger */
    int64_t until;         /* ms: end of the linger, or GW_FOREVER */
    int type;              /* type of the socket */
    bool joined;           /* a socket has bound the name and accepted the connection */
    const char *name;      /* the user's endpoint, within `alias` */
    char alias[];          /* the endpoint that libzmq knows */
} early_t;

const char *gw_inproc_name(const char *endpoint) {
    if (strncmp(endpoint, ALIAS, sizeof ALIAS - 1) != 0) return endpoint;
    return strstr(endpoint + sizeof ALIAS - 1, INPROC);
}

/* Returns the context's socket that accepts connections to end them. A DEALER accepts any peer. */
static void *inproc_closer(gw_context_t *context) {
    if (!context->closer) context->closer = gw_zmq_open(context, ZMQ_DEALER, 0);
    return context->closer;
}

/* Binds and unbinds the endpoint; accepted connections stay open. Returns 0, or -1 and errno. */
static int inproc_touch(void *zmq, const char *endpoint) {
    int rc = zmq_bind(zmq, endpoint);
    if (rc == 0) zmq_unbind(zmq, endpoint);
    return rc;
}

/* Returns 0 if the user's name is free, else -1 with errno EADDRINUSE or another. A ROUTER tests
 * the ZAP name: libzmq aborts if a client connects while a DEALER has bound that name. */
static int inproc_touch_name(gw_context_t *context, const char *name) {
    if (strcmp(name, ZAP) != 0) return inproc_touch(context->closer, name);
    void *router = gw_zmq_open(context, ZMQ_ROUTER, 0);
    if (!router) return -1;
    int rc = inproc_touch(router, name), error = errno;
    zmq_close(router);
    errno = error;
    return rc;
}

/* Drops the messages that `zmq` got. The receive also makes libzmq complete disconnections. */
static void inproc_drain(void *zmq) {
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (gw_zmq_receive(zmq, &message) == 0) continue;
    zmq_msg_close(&message);
}

/* Ends a connection whose name is not bound. `zmq` is the libzmq socket that connected; NULL: that
 * socket is closed. */
static void inproc_end_early(gw_context_t *context, early_t *early, void *zmq) {
    if (!inproc_closer(context) || inproc_touch(context->closer, early->alias) != 0) return;
    if (zmq) zmq_disconnect(zmq, early->alias);
    inproc_drain(context->closer);
}

static void inproc_unlink_early(early_t **link) {
    early_t *early = *link;
    *link = early->next;
    free(early);
}

/* Ends connections of closed sockets whose linger is over. */
static void inproc_sweep(gw_context_t *context) {
    int64_t now = gw_milliseconds_now();
    for (early_t **link = &context->early; *link;) {
        early_t *early = *link;
        if (early->owner || early->until == GW_FOREVER || early->until > now) {
            link = &early->next;
            continue;
        }
        inproc_end_early(context, early, NULL);
        inproc_unlink_early(link);
    }
}

/* Returns whether a socket that binds the name may accept the connection. libzmq aborts when a PAIR
 * refuses a second connection or another type, and when an XPUB sends a welcome message to a closed
 * socket. */
static bool inproc_accepts(int type, const early_t *early, int joined) {
    if (type == GW_CHANNEL) return joined == 0;
    if (type == ZMQ_PAIR || early->type == ZMQ_PAIR) return joined == 0 && type == early->type;
    return (type != ZMQ_XPUB && type != ZMQ_PUB) || early->owner;
}

static void inproc_join_all(gw_inproc_end_t end, const char *endpoint) {
    int joined = 0;
    for (early_t **link = &end.context->early; *link;) {
        early_t *early = *link;
        bool fits = !early->joined && strcmp(early->name, endpoint) == 0 &&
                inproc_accepts(end.type, early, joined);
        if (fits && inproc_touch(end.zmq, early->alias) == 0) {
            early->joined = true;
            joined++;
        }
        if (early->joined && !early->owner) inproc_unlink_early(link);
        else link = &early->next;
    }
}

static bool inproc_awaited(gw_context_t *context, const char *endpoint) {
    for (early_t *early = context->early; early; early = early->next) {
        if (!early->joined && strcmp(early->name, endpoint) == 0) return true;
    }
    return false;
}

static int inproc_bind(gw_inproc_end_t end, const char *endpoint) {
    gw_context_t *context = end.context;
    gw_spin_lock(&context->lock);
    inproc_sweep(context);
    /* inproc_touch_name finds out whether the name is free now: other sockets unbind at any time.
     * The bind of the name comes last, so that ZMQ_LAST_ENDPOINT reports this name. */
    bool awaited = inproc_awaited(context, endpoint);
    int rc = awaited ? inproc_touch_name(context, endpoint) : 0;
    if (rc == 0 && awaited) inproc_join_all(end, endpoint);
    if (rc == 0) rc = zmq_bind(end.zmq, endpoint);
    gw_spin_unlock(&context->lock); /* the unlock does not change errno */
    return rc;
}

/* Binds a duplicate of the given descriptor: libzmq closes the descriptor of use_fd itself, and
 * aborts when a descriptor is bound twice. */
static int inproc_bind_given(void *zmq, const char *endpoint, int given) {
    int copy = fcntl(given, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) return -1;
    /* Non-blocking: another socket may accept the connection that libzmq tries to accept. */
    fcntl(copy, F_SETFL, fcntl(copy, F_GETFL) | O_NONBLOCK);
    gw_zmq_set(zmq, ZMQ_USE_FD, &copy, sizeof copy);
    int rc = zmq_bind(zmq, endpoint), error = errno;
    gw_zmq_set(zmq, ZMQ_USE_FD, &given, sizeof given);
    if (rc != 0) close(copy);
    errno = error;
    return rc;
}

int gw_endpoint_bind(gw_inproc_end_t end, const char *endpoint) {
    int given = -1;
    size_t size = sizeof given;
    if (gw_inproc(endpoint)) return inproc_bind(end, endpoint);
    bool accepts_fd = strncmp(endpoint, "tcp:", 4) == 0 || strncmp(endpoint, "ipc:", 4) == 0 ||
            strncmp(endpoint, "ws", 2) == 0;
    if (!accepts_fd || gw_zmq_get(end.zmq, ZMQ_USE_FD, &given, &size) || given < 0)
        return zmq_bind(end.zmq, endpoint);
    return inproc_bind_given(end.zmq, endpoint, given);
}

/* Returns NULL with errno set if there is no memory. */
static early_t *inproc_make_early(gw_inproc_end_t end, const char *endpoint) {
    static atomic_ulong serial;
    size_t size = strlen(endpoint) + sizeof ALIAS + 24;
    early_t *early = malloc(sizeof *early + size);
    if (!early) return NULL;
    *early = (early_t){.owner = end.owner, .type = end.type};
    int serial_end = snprintf(early->alias, size, ALIAS "%lu.", atomic_fetch_add(&serial, 1));
    early->name = strcpy(early->alias + serial_end, endpoint);
    return early;
}

static int64_t inproc_connect(
        gw_inproc_end_t end, const char *endpoint, int64_t (*connect)(void *, const char *)) {
    gw_context_t *context = end.context;
    early_t *early = NULL, **last = &context->early;
    int64_t result = -1;
    gw_spin_lock(&context->lock);
    inproc_sweep(context);
    if (!inproc_closer(context)) goto out;
    if (inproc_touch_name(context, endpoint) == 0) {
        if (!(early = inproc_make_early(end, endpoint))) goto out;
    } else if (errno != EADDRINUSE) {
        goto out;
    }
    result = connect(end.zmq, early ? early->alias : endpoint);
    if (early && result >= 0) {
        while (*last) last = &(*last)->next;
        *last = early;
    } else {
        int error = errno;
        free(early);
        errno = error;
    }
out:
    gw_spin_unlock(&context->lock);
    return result;
}

int64_t gw_endpoint_connect(
        gw_inproc_end_t end, const char *endpoint, int64_t (*connect)(void *, const char *)) {
    return gw_inproc(endpoint) ? inproc_connect(end, endpoint, connect)
                               : connect(end.zmq, endpoint);
}

int64_t gw_zmq_connect(void *zmq, const char *endpoint) { return zmq_connect(zmq, endpoint); }

static int inproc_disconnect(gw_inproc_end_t end, const char *endpoint) {
    gw_context_t *context = end.context;
    gw_spin_lock(&context->lock);
    int rc = zmq_disconnect(end.zmq, endpoint), error = errno;
    for (early_t **link = &context->early; *link;) {
        early_t *early = *link;
        if (early->owner != end.owner || strcmp(early->name, endpoint) != 0) {
            link = &early->next;
            continue;
        }
        if (early->joined) zmq_disconnect(end.zmq, early->alias);
        else inproc_end_early(context, early, end.zmq);
        inproc_unlink_early(link);
        rc = 0;
    }
    gw_spin_unlock(&context->lock);
    errno = error;
    return rc;
}

int gw_endpoint_disconnect(gw_inproc_end_t end, gw_buffered_t *buffered, const char *endpoint) {
    int error = gw_buffered_read_ahead(buffered, end.zmq, end.type);
    if (error) {
        errno = error;
        return -1;
    }
    return gw_inproc(endpoint) ? inproc_disconnect(end, endpoint)
                               : zmq_disconnect(end.zmq, endpoint);
}

/* Runs before zmq_close(end.zmq). Connections to unbound names stay open for `linger` ms. */
void gw_inproc_close(gw_inproc_end_t end, int linger) {
    gw_context_t *context = end.context;
    gw_spin_lock(&context->lock);
    for (early_t **link = &context->early; *link;) {
        early_t *early = *link;
        if (early->owner != end.owner) {
            link = &early->next;
        } else if (early->joined || linger == 0) {
            if (!early->joined) inproc_end_early(context, early, end.zmq);
            inproc_unlink_early(link);
        } else {
            early->owner = NULL;
            early->until = linger < 0 ? GW_FOREVER : gw_milliseconds_now() + linger;
            link = &early->next;
        }
    }
    gw_spin_unlock(&context->lock);
}

/* Ends the connections to names that are not bound: zmq_ctx_term would make a socket for each of
 * them, and abort if no descriptor is free. */
void gw_inproc_terminate(gw_context_t *context) {
    while (context->early) {
        if (!context->early->joined) inproc_end_early(context, context->early, NULL);
        inproc_unlink_early(&context->early);
    }
    if (context->closer) zmq_close(context->closer);
    context->closer = NULL;
}
