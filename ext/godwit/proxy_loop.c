/* A proxy's loop moves messages between two sockets without the GVL and without Ruby (law 12, ADR
 * 12). It never blocks in libzmq: it sleeps only in poll, on the sockets' descriptors and its own
 * eventfd. Other threads set a bit of `control`, which is atomic, and signal that eventfd. */
#include "proxy.h"
#include <poll.h>
#include <stdlib.h>

enum { LARGE = 4096 }; /* bytes; the budget does not count smaller frames */

/* A large frame in the back end's queues: libzmq frees it when the last reader has it. */
typedef struct {
    zmq_msg_t frame;
    gw_budget_t *budget;
} large_t;

void gw_budget_leave(gw_budget_t *budget) {
    if (budget && atomic_fetch_sub(&budget->references, 1) == 1) free(budget);
}

static inline void proxy_loop_add(atomic_ullong *counter, unsigned long long count) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + count,
            memory_order_relaxed);
}

static int proxy_loop_send_copy(gw_socket_t *to, zmq_msg_t *part, int flags) {
    zmq_msg_t copy;
    zmq_msg_init(&copy);
    int error = zmq_msg_copy(&copy, part) == 0 ? gw_send_frame(to, &copy, flags) : errno;
    if (error) zmq_msg_close(&copy);
    return error;
}

/* Sends all frames or none; returns an errno. If a peer vanishes in mid-message, the message starts
 * again from its first frame, as in send.c (ADR 3). So all frames but the last are sent as copies;
 * with `keep` the last too. */
static int proxy_loop_send_whole(gw_socket_t *to, zmq_msg_t *parts, int count, bool keep) {
    for (;;) {
        int error = 0, i;
        for (i = 0; i < count; i++) {
            int flags = i + 1 < count ? ZMQ_SNDMORE : 0;
            error = keep || flags ? proxy_loop_send_copy(to, &parts[i], flags)
                                  : gw_send_frame(to, &parts[i], flags);
            if (error) break;
        }
        if (error != EAGAIN || i == 0) return error;
        if (to->type != ZMQ_PUSH && to->type != ZMQ_DEALER) continue;
        for (int left = count - i - 1; left > 0; left--) { /* libzmq drops these */
            zmq_msg_t empty;
            zmq_msg_init(&empty);
            if (gw_send_frame(to, &empty, left > 1 ? ZMQ_SNDMORE : 0)) zmq_msg_close(&empty);
        }
    }
}

static void proxy_loop_let_go(gw_direction_t *direction) {
    for (int i = 0; i < direction->count; i++) {
        zmq_msg_close(&direction->parts[i]);
        zmq_msg_init(&direction->parts[i]);
    }
    direction->count = 0;
}

static bool proxy_loop_more_room(gw_direction_t *direction) {
    int capacity = direction->capacity ? 2 * direction->capacity : 4;
    zmq_msg_t *parts = realloc(direction->parts, capacity * sizeof *parts);
    if (!parts) return false;
    direction->parts = parts;
    while (direction->capacity < capacity) zmq_msg_init(&parts[direction->capacity++]);
    return true;
}

/* Takes the next message out of a batch; returns an errno. */
static int proxy_loop_take_from_batch(gw_proxy_t *proxy, gw_direction_t *direction) {
    int count = proxy->observing->next(&direction->batch, &direction->offset, direction->parts);
    if (!count) return ENOMEM;
    for (direction->count = 0; direction->count < count; direction->count++)
        direction->bytes += zmq_msg_size(&direction->parts[direction->count]);
    if (--direction->left == 0) zmq_msg_close(&direction->batch);
    return 0;
}

/* Takes one message whole; returns an errno. */
static int proxy_loop_take(gw_proxy_t *proxy, gw_direction_t *direction) {
    gw_socket_t *from = proxy->native[direction->from];
    direction->bytes = 0;
    direction->captured = direction->observed = direction->counted = false;
    if (direction->left) return proxy_loop_take_from_batch(proxy, direction);
    do {
        if (direction->count == direction->capacity && !proxy_loop_more_room(direction))
            return ENOMEM;
        int error = gw_receive_frame(from, &direction->parts[direction->count]);
        if (error) {
            proxy_loop_let_go(direction); /* in mid-message only if the context ends */
            return error;
        }
        direction->bytes += zmq_msg_size(&direction->parts[direction->count]);
    } while (zmq_msg_more(&direction->parts[direction->count++]));
    direction->left =
            proxy->observing ? proxy->observing->count(direction->parts, direction->count) : 0;
    proxy_loop_add(
            &proxy->traffic[direction->from].received, direction->left ? direction->left : 1);
    proxy_loop_add(&proxy->traffic[direction->from].received_bytes, direction->bytes);
    if (!direction->left) return 0;
    zmq_msg_init(&direction->batch);
    zmq_msg_move(&direction->batch, &direction->parts[direction->count - 1]);
    proxy_loop_let_go(direction);
    direction->offset = direction->bytes = 0;
    return proxy_loop_take_from_batch(proxy, direction);
}

static void proxy_loop_free_large(void *data, void *hint) {
    large_t *large = hint;
    atomic_fetch_sub(&large->budget->held, zmq_msg_size(&large->frame));
    zmq_msg_close(&large->frame);
    gw_budget_leave(large->budget);
    free(large);
}

/* Wraps the frame into one that takes its bytes out of the budget when libzmq frees it. Without
 * memory the frame stays uncounted. */
static void proxy_loop_count_frame(gw_budget_t *budget, zmq_msg_t *part) {
    size_t size = zmq_msg_size(part);
    large_t *large = size >= LARGE ? malloc(sizeof *large) : NULL;
    if (!large) return;
    zmq_msg_init(&large->frame);
    zmq_msg_move(&large->frame, part);
    large->budget = budget;
    atomic_fetch_add(&budget->references, 1);
    atomic_fetch_add(&budget->held, size);
    zmq_msg_close(part);
    if (zmq_msg_init_data(part, zmq_msg_data(&large->frame), size, proxy_loop_free_large, large) ==
            0)
        return;
    zmq_msg_init(part);
    zmq_msg_move(part, &large->frame);
    proxy_loop_free_large(NULL, large); /* its frame is empty now */
    atomic_fetch_sub(&budget->held, size);
}

/* Counts the large frames of the message, if they fit. */
static bool proxy_loop_within_budget(gw_budget_t *budget, gw_direction_t *direction) {
    size_t bytes = 0;
    if (direction->counted) return true;
    for (int i = 0; i < direction->count; i++) {
        size_t size = zmq_msg_size(&direction->parts[i]);
        if (size >= LARGE) bytes += size;
    }
    if (bytes && atomic_load(&budget->held) + bytes > budget->most) return false;
    for (int i = 0; bytes && i < direction->count; i++)
        proxy_loop_count_frame(budget, &direction->parts[i]);
    direction->counted = true;
    return true;
}

/* Sends the message. Returns an errno; after EAGAIN the direction keeps the message. */
static int proxy_loop_pass(gw_proxy_t *proxy, gw_direction_t *direction) {
    int error;
    if (proxy->native[GW_CAPTURE] && !direction->captured) {
        error = proxy_loop_send_whole(
                proxy->native[GW_CAPTURE], direction->parts, direction->count, true);
        if (error) return error;
        direction->captured = true;
        proxy_loop_add(&proxy->traffic[GW_CAPTURE].sent, 1);
        proxy_loop_add(&proxy->traffic[GW_CAPTURE].sent_bytes, direction->bytes);
    }
    if (proxy->observing && !direction->observed) {
        proxy->observing->observe(
                proxy->observing, direction->parts, direction->count, direction->bytes);
        direction->observed = true;
    }
    if (proxy->budget && direction->to == GW_BACK &&
            !proxy_loop_within_budget(proxy->budget, direction))
        error = ENOBUFS;
    else
        error = proxy_loop_send_whole(
                proxy->native[direction->to], direction->parts, direction->count, false);
    if (error == EHOSTUNREACH || error == ENOBUFS) {
        /* A peer that left or does not read must not stop the others. */
        proxy_loop_add(&proxy->dropped, 1);
        error = 0;
    } else if (!error) {
        proxy_loop_add(&proxy->traffic[direction->to].sent, 1);
        proxy_loop_add(&proxy->traffic[direction->to].sent_bytes, direction->bytes);
    }
    if (!error) proxy_loop_let_go(direction);
    return error;
}

/* One direction's turn; returns an errno. It takes no message that libzmq cannot send on, so that
 * high-water marks hold the senders back. */
static int proxy_loop_take_turn(
        gw_proxy_t *proxy, gw_direction_t *direction, const int *events, bool *progress) {
    int error;
    if (direction->count) {
        error = proxy_loop_pass(proxy, direction);
        if (!error) *progress = true;
        return error == EAGAIN ? 0 : error;
    }
    if (!direction->left && (!direction->live || !(events[direction->from] & ZMQ_POLLIN))) return 0;
    bool echoes = direction->from == direction->to; /* a REP can send once it has received */
    if (!echoes && !(events[direction->to] & ZMQ_POLLOUT)) return 0;
    if (proxy->native[GW_CAPTURE] && !(events[GW_CAPTURE] & ZMQ_POLLOUT)) return 0;
    *progress = true;
    for (int i = 0; i < GW_PROXY_BURST; i++) {
        if (atomic_load_explicit(&proxy->control.bits, memory_order_relaxed)) return 0;
        error = proxy_loop_take(proxy, direction);
        if (!error) error = proxy_loop_pass(proxy, direction);
        if (error) return error == EAGAIN ? 0 : error;
    }
    return 0;
}

/* Reads the events of all sockets, which also empties their mailboxes; returns an errno. Drains the
 * subscriptions of sockets that only send. */
static int proxy_loop_look(gw_proxy_t *proxy, int *events, bool *progress) {
    for (int i = 0; i < GW_PLACES; i++) {
        gw_socket_t *socket = proxy->native[i];
        if (!socket) continue;
        events[i] = gw_socket_events(socket);
        if (events[i] < 0) return errno;
        if (!(events[i] & ZMQ_POLLIN) ||
                !(socket->publisher || (i == GW_CAPTURE && socket->type == ZMQ_XPUB)))
            continue;
        int error = gw_drain_subscriptions(socket);
        if (error != EAGAIN && error != EINTR) return error;
        *progress = true;
    }
    return 0;
}

static bool proxy_loop_any_edge(gw_proxy_t *proxy) {
    bool any = false;
    for (int i = 0; i < GW_PLACES; i++) {
        /* Asks all sockets: the answer resets the edge. */
        if (proxy->native[i] && gw_edge_passed(proxy->native[i])) any = true;
    }
    return any;
}

static void proxy_loop_go_to_sleep(gw_proxy_t *proxy) {
    struct pollfd fds[GW_PLACES + 1];
    for (int i = 0; i < GW_PLACES; i++)
        fds[i] = (struct pollfd){
                .fd = proxy->native[i] ? proxy->native[i]->fd : -1, .events = POLLIN};
    fds[GW_PLACES] = (struct pollfd){.fd = proxy->control.wake_fd, .events = POLLIN};
    atomic_store(&proxy->asleep, true);
    int ready = poll(fds, GW_PLACES + 1, -1);
    atomic_store(&proxy->asleep, false);
    /* Before the loop reads `control`, so that no command is lost. */
    if (ready > 0 && fds[GW_PLACES].revents) gw_event_clear(proxy->control.wake_fd);
}

/* The loop may sleep if its last call on each socket read the events and found none. A send comes
 * after that, and may consume the edge of a new event; so with an unsent message the loop sleeps
 * only after a turn in which no edge passed. */
void *gw_proxy_run(void *argument) {
    gw_proxy_t *proxy = argument;
    for (;;) {
        int events[GW_PLACES] = {0}, error, control = atomic_load(&proxy->control.bits);
        bool progress = false, paused = control & GW_PROXY_PAUSE;
        bool in_hand = !paused && (proxy->directions[0].count || proxy->directions[1].count);
        if (control & ~GW_PROXY_PAUSE) return NULL;
        if (in_hand) proxy_loop_any_edge(proxy);
        error = proxy_loop_look(proxy, events, &progress);
        for (int i = 0; i < 2 && !error && !paused; i++)
            error = proxy_loop_take_turn(proxy, &proxy->directions[i], events, &progress);
        if ((proxy->error = error) != 0) return NULL;
        if (!progress && !(in_hand && proxy_loop_any_edge(proxy))) proxy_loop_go_to_sleep(proxy);
    }
}
