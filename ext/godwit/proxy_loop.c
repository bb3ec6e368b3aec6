/* A proxy's loop passes messages between two sockets without the GVL and without Ruby (ADR 12). The
 * loop never blocks in libzmq: it sleeps only in poll, on the sockets' descriptors and its own
 * eventfd. Other threads set a bit of `control`, which is atomic, and signal that eventfd. */
#include "proxy.h"
#include <poll.h>
#include <stdlib.h>

enum { LARGE = 4096 }; /* bytes; the budget does not count smaller frames */

/* A large frame in the back end's queues: libzmq frees it once no queue contains it. */
typedef struct {
    zmq_msg_t frame;
    gw_budget_t *budget;
} large_t;

void gw_budget_release(gw_budget_t *budget) {
    if (budget && atomic_fetch_sub(&budget->references, 1) == 1) free(budget);
}

static inline void proxy_loop_add(atomic_ullong *counter, unsigned long long count) {
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + count,
            memory_order_relaxed);
}

static int proxy_loop_send_copy(gw_socket_t *to, zmq_msg_t *frame, int flags) {
    zmq_msg_t copy;
    zmq_msg_init(&copy);
    int error = zmq_msg_copy(&copy, frame) == 0 ? gw_send_frame(to, &copy, flags) : errno;
    if (error) zmq_msg_close(&copy);
    return error;
}

/* Sends all frames or none; returns an errno. If a peer vanishes in mid-message, the message starts
 * again from its first frame, as in send.c (ADR 3). So all frames but the last are sent as copies;
 * with `copies` the last frame too. */
static int proxy_loop_send_whole(gw_socket_t *to, zmq_msg_t *frames, int count, bool copies) {
    for (;;) {
        int error = 0, i;
        for (i = 0; i < count; i++) {
            int flags = i + 1 < count ? ZMQ_SNDMORE : 0;
            error = copies || flags ? proxy_loop_send_copy(to, &frames[i], flags)
                                    : gw_send_frame(to, &frames[i], flags);
            if (error) break;
        }
        gw_cut_t cut = gw_cut(to->type, error, i > 0);
        if (cut == GW_NOT_CUT) return error;
        if (cut == GW_CUT_DROPS) gw_send_rest(to, count - i - 1);
    }
}

static void proxy_loop_drop_frames(gw_direction_t *direction) {
    for (int i = 0; i < direction->count; i++) {
        zmq_msg_close(&direction->frames[i]);
        zmq_msg_init(&direction->frames[i]);
    }
    direction->count = 0;
}

static bool proxy_loop_more_room(gw_direction_t *direction) {
    int capacity = direction->capacity ? 2 * direction->capacity : 4;
    zmq_msg_t *frames = realloc(direction->frames, capacity * sizeof *frames);
    if (!frames) return false;
    direction->frames = frames;
    while (direction->capacity < capacity) zmq_msg_init(&frames[direction->capacity++]);
    return true;
}

/* Makes the next message of a batch; returns an errno. */
static int proxy_loop_next_of_batch(gw_proxy_t *proxy, gw_direction_t *direction) {
    int count = proxy->observing->next(&direction->batch, &direction->offset, direction->frames);
    if (!count) return ENOMEM;
    for (direction->count = 0; direction->count < count; direction->count++)
        direction->bytes += zmq_msg_size(&direction->frames[direction->count]);
    if (--direction->remaining == 0) zmq_msg_close(&direction->batch);
    return 0;
}

/* Receives one whole message; returns an errno. */
static int proxy_loop_receive(gw_proxy_t *proxy, gw_direction_t *direction) {
    gw_socket_t *from = proxy->native[direction->from];
    direction->bytes = 0;
    direction->captured = direction->observed = direction->counted = false;
    if (direction->remaining) return proxy_loop_next_of_batch(proxy, direction);
    do {
        if (direction->count == direction->capacity && !proxy_loop_more_room(direction))
            return ENOMEM;
        int error = gw_receive_frame(from, &direction->frames[direction->count]);
        if (error) {
            /* An error in mid-message means that the context was terminated. */
            proxy_loop_drop_frames(direction);
            return error;
        }
        direction->bytes += zmq_msg_size(&direction->frames[direction->count]);
    } while (zmq_msg_more(&direction->frames[direction->count++]));
    direction->remaining =
            proxy->observing ? proxy->observing->count(direction->frames, direction->count) : 0;
    proxy_loop_add(&proxy->traffic[direction->from].received,
            direction->remaining ? direction->remaining : 1);
    proxy_loop_add(&proxy->traffic[direction->from].received_bytes, direction->bytes);
    if (!direction->remaining) return 0;
    zmq_msg_init(&direction->batch);
    zmq_msg_move(&direction->batch, &direction->frames[direction->count - 1]);
    proxy_loop_drop_frames(direction);
    direction->offset = direction->bytes = 0;
    return proxy_loop_next_of_batch(proxy, direction);
}

static void proxy_loop_free_large(void *data, void *hint) {
    large_t *large = hint;
    atomic_fetch_sub(&large->budget->used, zmq_msg_size(&large->frame));
    zmq_msg_close(&large->frame);
    gw_budget_release(large->budget);
    free(large);
}

/* Adds a large frame to the budget, and wraps it so that libzmq's free of the frame subtracts its
 * bytes again. If there is no memory, the budget does not count the frame. */
static void proxy_loop_count_frame(gw_budget_t *budget, zmq_msg_t *frame) {
    size_t size = zmq_msg_size(frame);
    large_t *large = size >= LARGE ? malloc(sizeof *large) : NULL;
    if (!large) return;
    zmq_msg_init(&large->frame);
    zmq_msg_move(&large->frame, frame);
    large->budget = budget;
    atomic_fetch_add(&budget->references, 1);
    atomic_fetch_add(&budget->used, size);
    zmq_msg_close(frame);
    if (zmq_msg_init_data(frame, zmq_msg_data(&large->frame), size, proxy_loop_free_large, large) ==
            0)
        return;
    zmq_msg_init(frame);
    zmq_msg_move(frame, &large->frame);
    proxy_loop_free_large(NULL, large); /* the move has emptied large->frame */
    atomic_fetch_sub(&budget->used, size);
}

/* Counts the large frames of the message if they fit into the budget. Returns whether they fit. */
static bool proxy_loop_within_budget(gw_budget_t *budget, gw_direction_t *direction) {
    size_t bytes = 0;
    if (direction->counted) return true;
    for (int i = 0; i < direction->count; i++) {
        size_t size = zmq_msg_size(&direction->frames[i]);
        if (size >= LARGE) bytes += size;
    }
    if (bytes && atomic_load(&budget->used) + bytes > budget->most) return false;
    for (int i = 0; bytes && i < direction->count; i++)
        proxy_loop_count_frame(budget, &direction->frames[i]);
    direction->counted = true;
    return true;
}

/* Returns 0 once the message was sent or dropped; EAGAIN: try again later; else the loop must
 * end. */
static int proxy_loop_pass(gw_proxy_t *proxy, gw_direction_t *direction) {
    int error;
    if (proxy->native[GW_CAPTURE] && !direction->captured) {
        error = proxy_loop_send_whole(
                proxy->native[GW_CAPTURE], direction->frames, direction->count, true);
        if (error) return error;
        direction->captured = true;
        proxy_loop_add(&proxy->traffic[GW_CAPTURE].sent, 1);
        proxy_loop_add(&proxy->traffic[GW_CAPTURE].sent_bytes, direction->bytes);
    }
    if (proxy->observing && !direction->observed) {
        proxy->observing->observe(
                proxy->observing, direction->frames, direction->count, direction->bytes);
        direction->observed = true;
    }
    if (proxy->budget && direction->to == GW_BACK &&
            !proxy_loop_within_budget(proxy->budget, direction))
        error = ENOBUFS;
    else
        error = proxy_loop_send_whole(
                proxy->native[direction->to], direction->frames, direction->count, false);
    if (error == EHOSTUNREACH || error == ENOBUFS) {
        /* A peer that has departed or does not read must not stop the other peers. */
        proxy_loop_add(&proxy->dropped, 1);
        error = 0;
    } else if (!error) {
        proxy_loop_add(&proxy->traffic[direction->to].sent, 1);
        proxy_loop_add(&proxy->traffic[direction->to].sent_bytes, direction->bytes);
    }
    if (!error) proxy_loop_drop_frames(direction);
    return error;
}

/* Passes messages in one direction; returns an errno. The turn receives nothing while `to` is not
 * writable, so that the high-water mark of `to` stops the senders too. */
static int proxy_loop_turn(
        gw_proxy_t *proxy, gw_direction_t *direction, const int *events, bool *progress) {
    int error;
    if (direction->count) {
        error = proxy_loop_pass(proxy, direction);
        if (!error) *progress = true;
        return error == EAGAIN ? 0 : error;
    }
    if (!direction->remaining && (!direction->live || !(events[direction->from] & ZMQ_POLLIN)))
        return 0;
    bool echoes = direction->from == direction->to; /* a REP is writable only after a request */
    if (!echoes && !(events[direction->to] & ZMQ_POLLOUT)) return 0;
    if (proxy->native[GW_CAPTURE] && !(events[GW_CAPTURE] & ZMQ_POLLOUT)) return 0;
    *progress = true;
    for (int i = 0; i < GW_PROXY_BURST; i++) {
        if (atomic_load_explicit(&proxy->control.bits, memory_order_relaxed)) return 0;
        error = proxy_loop_receive(proxy, direction);
        if (!error) error = proxy_loop_pass(proxy, direction);
        if (error) return error == EAGAIN ? 0 : error;
    }
    return 0;
}

/* Reads the events of all sockets, which also empties their mailboxes, and drains the subscriptions
 * of sockets that only send. Returns an errno. */
static int proxy_loop_poll_events(gw_proxy_t *proxy, int *events, bool *progress) {
    for (int i = 0; i < GW_SIDES; i++) {
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
    for (int i = 0; i < GW_SIDES; i++) {
        /* Each socket is checked, also after the first edge: the call resets the socket's edge. */
        if (proxy->native[i] && gw_edge_passed(proxy->native[i])) any = true;
    }
    return any;
}

static void proxy_loop_sleep(gw_proxy_t *proxy) {
    struct pollfd fds[GW_SIDES + 1];
    for (int i = 0; i < GW_SIDES; i++)
        fds[i] = (struct pollfd){
                .fd = proxy->native[i] ? proxy->native[i]->fd : -1, .events = POLLIN};
    fds[GW_SIDES] = (struct pollfd){.fd = proxy->control.wake_fd, .events = POLLIN};
    atomic_store(&proxy->asleep, true);
    int ready = poll(fds, GW_SIDES + 1, -1);
    atomic_store(&proxy->asleep, false);
    /* The loop reads `control` after this clear, so that no command is lost. */
    if (ready > 0 && fds[GW_SIDES].revents) gw_event_clear(proxy->control.wake_fd);
}

/* Runs the loop. It may sleep after it has read the events of every socket and found none. But a
 * send after that read may consume the edge of a new event. So while a message is unsent, the loop
 * sleeps only after a turn in which no socket had an edge. */
void *gw_proxy_run(void *argument) {
    gw_proxy_t *proxy = argument;
    for (;;) {
        int events[GW_SIDES] = {0}, error, control = atomic_load(&proxy->control.bits);
        bool progress = false, paused = control & GW_PROXY_PAUSE;
        bool in_hand = !paused && (proxy->directions[0].count || proxy->directions[1].count);
        if (control & ~GW_PROXY_PAUSE) return NULL;
        if (in_hand) proxy_loop_any_edge(proxy);
        error = proxy_loop_poll_events(proxy, events, &progress);
        for (int i = 0; i < 2 && !error && !paused; i++)
            error = proxy_loop_turn(proxy, &proxy->directions[i], events, &progress);
        if ((proxy->error = error) != 0) return NULL;
        if (!progress && !(in_hand && proxy_loop_any_edge(proxy))) proxy_loop_sleep(proxy);
    }
}
