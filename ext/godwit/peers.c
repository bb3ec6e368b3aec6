/* Counts the peers of a socket by the events of libzmq's monitor, for wait_connected. PeerCounter
 * (Ruby) has the same algorithm. Here no Ruby method may run: events are read during other calls,
 * where a method could raise or let another thread run. Needs the GVL. */
#include "wait.h"
#include <stdlib.h>

typedef struct {
    int fd;
    bool gone;                /* libzmq reported the end before the opening */
    long successes, failures; /* gw_peers' counters when this connection opened; -1: unknown */
} connection_t;

struct gw_peers {
    connection_t *known;  /* owned, from malloc */
    long count, capacity; /* entries of `known`: used, allocated */
    long open;            /* connections that are open */
    long established;
    long successes, failures; /* handshakes that succeeded and failed until now */
    long failing;             /* failed connections whose disconnection was not reported yet */
    long doubtful;            /* disconnections counted as failed connections, perhaps wrongly */
    bool unordered;
};

struct gw_peers *gw_peers_new(bool unordered) {
    struct gw_peers *peers = calloc(1, sizeof *peers);
    if (peers) peers->unordered = unordered;
    return peers;
}

void gw_peers_free(struct gw_peers *peers) {
    if (peers) free(peers->known);
    free(peers);
}

long gw_peers_count(const struct gw_peers *peers, bool shaken_hands) {
    return shaken_hands ? peers->established : peers->open;
}

static connection_t *peers_find(struct gw_peers *peers, int fd, bool gone) {
    for (long i = 0; i < peers->count; i++) {
        if (peers->known[i].fd == fd && peers->known[i].gone == gone) return &peers->known[i];
    }
    return NULL;
}

static void peers_add(struct gw_peers *peers, connection_t connection) {
    if (peers->count == peers->capacity) {
        long capacity = peers->capacity ? 2 * peers->capacity : 8;
        connection_t *known = realloc(peers->known, capacity * sizeof *known);
        if (!known) return;
        peers->known = known;
        peers->capacity = capacity;
    }
    peers->known[peers->count++] = connection;
}

static void peers_opened(struct gw_peers *peers, int fd) {
    connection_t *gone = peers_find(peers, fd, true);
    peers->open++;
    if (gone) *gone = peers->known[--peers->count];
    else if (peers->unordered)
        peers_add(peers, (connection_t){.fd = fd, .successes = -1, .failures = -1});
    else
        peers_add(peers,
                (connection_t){
                        .fd = fd, .successes = peers->successes, .failures = peers->failures});
}

/* libzmq reports which connection ended, but not whose handshake succeeded or failed. So a
 * connection that may have failed counts as a failed one while `failing` is above 0. A connection
 * whose handshake ended without an event counts as a disconnected peer. */
static void peers_closed(struct gw_peers *peers, int fd) {
    connection_t *found = peers_find(peers, fd, false),
                 connection = {.fd = fd, .gone = true, .successes = -1, .failures = -1};
    peers->open--;
    if (found) {
        connection = *found;
        *found = peers->known[--peers->count];
    } else {
        peers_add(peers, connection);
    }
    bool peer = connection.successes != peers->successes,
         failed = connection.failures != peers->failures;
    if (failed && peers->failing > 0) {
        peers->failing--;
        if (peer) peers->doubtful++;
    } else if (peer) {
        peers->established--;
    } else if (failed && peers->doubtful > 0) {
        peers->doubtful--;
        peers->established--;
    }
    if (peers->established < 0) peers->established = 0;
    if (!peers->unordered && peers->established > peers->open) peers->established = peers->open;
}

void gw_peers_record(struct gw_peers *peers, uint64_t event, int value) {
    if (event & GW_PEER_OPENED) peers_opened(peers, value);
    else if (event & GW_PEER_FAILED) peers->failing++, peers->failures++;
    else if (event == ZMQ_EVENT_DISCONNECTED) peers_closed(peers, value);
    else if (event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED) peers->established++, peers->successes++;
}
