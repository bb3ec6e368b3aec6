/* The frames that a socket buffers: read ahead before a disconnect, or the envelope of a request. A
 * REP is made of libzmq's ROUTER and stores the envelope itself, since libzmq's REP may lose a
 * reply (ADR 25). The caller has the socket's lock. */
#include "core.h"
#include <stdlib.h>

void *gw_zmq_open(gw_context_t *context, int type, int linger) {
    int threads = zmq_ctx_get(context->zmq, ZMQ_IO_THREADS);
    errno = gw_descriptors(context->started ? 2 : 4 + 2 * (threads < 0 ? 1 : threads));
    void *zmq = errno ? NULL : zmq_socket(context->zmq, type);
    if (!zmq) return NULL;
    context->started = true;
    int error = gw_zmq_set(zmq, ZMQ_LINGER, &linger, sizeof linger);
    if (!error) return zmq;
    zmq_close(zmq);
    errno = error;
    return NULL;
}

int gw_zmq_get(void *zmq, int option, void *value, size_t *size) {
    return zmq_getsockopt(zmq, option, value, size) == 0 ? 0 : errno;
}

int gw_zmq_set(void *zmq, int option, const void *value, size_t size) {
    return zmq_setsockopt(zmq, option, value, size) == 0 ? 0 : errno;
}

int gw_zmq_events(void *zmq) {
    int events, error;
    size_t size = sizeof events;
    while ((error = gw_zmq_get(zmq, ZMQ_EVENTS, &events, &size)) == EINTR) continue;
    if (!error) return events;
    errno = error;
    return -1;
}

int gw_frames_add(gw_frames_t *frames, zmq_msg_t *message) {
    if (frames->last == frames->capacity) {
        int capacity = frames->capacity ? 2 * frames->capacity : 4;
        zmq_msg_t *larger = realloc(frames->messages, capacity * sizeof *larger);
        if (!larger) return ENOMEM;
        frames->messages = larger;
        frames->capacity = capacity;
    }
    zmq_msg_t *added = &frames->messages[frames->last++];
    zmq_msg_init(added);
    zmq_msg_move(added, message);
    return 0;
}

void gw_frames_clear(gw_frames_t *frames) {
    while (frames->first < frames->last) zmq_msg_close(&frames->messages[frames->first++]);
    frames->first = frames->last = 0;
}

void gw_frames_free(gw_frames_t *frames) {
    gw_frames_clear(frames);
    free(frames->messages);
    *frames = (gw_frames_t){0};
}

/* Moves the next frame that was read ahead, or else libzmq's, to `message`; returns an errno. */
static int frames_next(gw_buffered_t *buffered, void *zmq, zmq_msg_t *message) {
    gw_frames_t *ahead = &buffered->ahead;
    if (ahead->first == ahead->last) return gw_zmq_receive(zmq, message);
    zmq_msg_move(message, &ahead->messages[ahead->first]);
    zmq_msg_close(&ahead->messages[ahead->first++]);
    if (ahead->first == ahead->last) gw_frames_clear(ahead);
    return 0;
}

/* Receives and stores the frames up to the end of the message; returns an errno. */
static int frames_read_to_end(gw_buffered_t *buffered, void *zmq) {
    bool more = true;
    int error = 0;
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (more && !(error = gw_zmq_receive(zmq, &message))) {
        more = zmq_msg_more(&message);
        error = gw_frames_add(&buffered->ahead, &message);
    }
    zmq_msg_close(&message);
    buffered->indirect = true;
    return error == EAGAIN ? 0 : error;
}

/* Receives the rest of a message before a disconnect; returns an errno. A read of ZMQ_EVENTS makes
 * a ROUTER or SUB receive a first frame; a disconnect before the other frames lets libzmq abort. */
int gw_buffered_read_ahead(gw_buffered_t *buffered, void *zmq, int type) {
    if (type != ZMQ_ROUTER && type != ZMQ_REP && type != ZMQ_SUB && type != ZMQ_XSUB) return 0;
    int error = 0;
    if (buffered->turn == GW_REP_READING && buffered->ahead.last == 0)
        error = frames_read_to_end(buffered, zmq);
    if (error) return error;
    int events = gw_zmq_events(zmq);
    if (events < 0) return errno;
    return events & ZMQ_POLLIN ? frames_read_to_end(buffered, zmq) : 0;
}

/* Receives the envelope of the next request, and drops messages without a delimiter. */
static int frames_receive_envelope(gw_buffered_t *buffered, void *zmq) {
    gw_frames_t *envelope = &buffered->envelope;
    zmq_msg_t message;
    int error;
    zmq_msg_init(&message);
    while (!(error = frames_next(buffered, zmq, &message))) {
        bool more = zmq_msg_more(&message);
        bool delimiter = zmq_msg_size(&message) == 0 && envelope->last > 0;
        error = gw_frames_add(envelope, &message);
        if (error) break;
        if (!more) gw_frames_clear(envelope);
        else if (delimiter) break;
    }
    zmq_msg_close(&message);
    if (error) gw_frames_clear(envelope);
    else buffered->turn = GW_REP_READING;
    return error;
}

static int frames_send_envelope(gw_buffered_t *buffered, void *zmq) {
    gw_frames_t *envelope = &buffered->envelope;
    while (envelope->first < envelope->last) {
        int error = gw_zmq_send(zmq, &envelope->messages[envelope->first], ZMQ_SNDMORE);
        if (error) return error;
        envelope->first++;
    }
    gw_frames_clear(envelope);
    buffered->turn = GW_REP_REPLYING;
    return 0;
}

int gw_buffered_receive(gw_buffered_t *buffered, void *zmq, int type, zmq_msg_t *message) {
    if (type != ZMQ_REP) {
        int error = frames_next(buffered, zmq, message);
        if (buffered->ahead.last == 0) buffered->indirect = false;
        return error;
    }
    if (buffered->turn == GW_REP_OWES || buffered->turn == GW_REP_REPLYING) return EFSM;
    int error = buffered->turn == GW_REP_READING ? 0 : frames_receive_envelope(buffered, zmq);
    if (!error) error = frames_next(buffered, zmq, message);
    if (!error && !zmq_msg_more(message)) buffered->turn = GW_REP_OWES;
    return error;
}

int gw_buffered_send(gw_buffered_t *buffered, void *zmq, int type, zmq_msg_t *message, int flags) {
    if (type != ZMQ_REP) return gw_zmq_send(zmq, message, flags);
    if (buffered->turn == GW_REP_IDLE || buffered->turn == GW_REP_READING) return EFSM;
    int error = buffered->turn == GW_REP_OWES ? frames_send_envelope(buffered, zmq) : 0;
    if (!error) error = gw_zmq_send(zmq, message, flags);
    if (!error && !(flags & ZMQ_SNDMORE)) buffered->turn = GW_REP_IDLE;
    return error;
}

int gw_buffered_events(gw_buffered_t *buffered, void *zmq, int type, int events) {
    bool ahead = buffered->ahead.last > 0;
    if (type != ZMQ_REP) return ahead ? events | ZMQ_POLLIN : events;
    if (buffered->turn == GW_REP_IDLE && (ahead || events & ZMQ_POLLIN)) {
        int error = frames_receive_envelope(buffered, zmq);
        if (error && error != EAGAIN) {
            errno = error;
            return -1;
        }
    }
    if (buffered->turn == GW_REP_IDLE) return 0;
    return buffered->turn == GW_REP_READING ? ZMQ_POLLIN : ZMQ_POLLOUT;
}

void gw_buffered_clear(gw_buffered_t *buffered, int type) {
    gw_frames_free(&buffered->ahead);
    gw_frames_free(&buffered->envelope);
    buffered->turn = GW_REP_IDLE;
    buffered->indirect = type == ZMQ_REP;
}
