/* One frame from libzmq or to it, where that is more than one call. A REP is libzmq's ROUTER here, and
 * keeps the envelope of a request itself: libzmq's REP loses the reply to the request that follows a
 * message without a delimiter from a peer that has left. Nothing here touches Ruby. */
#include "godwit.h"
#include <errno.h>
#include <stdlib.h>

static int
transfer_receive(void *zmq, zmq_msg_t *message)
{
    while (zmq_msg_recv(message, zmq, ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

static int
transfer_send(void *zmq, zmq_msg_t *message, int flags)
{
    while (zmq_msg_send(message, zmq, flags | ZMQ_DONTWAIT) < 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

/* ---- a list of frames ---- */

static int
add_frame(gw_frames_t *frames, zmq_msg_t *message)
{
    if (frames->last == frames->room) {
        int room = frames->room ? 2 * frames->room : 4;
        zmq_msg_t *larger = realloc(frames->messages, room * sizeof *larger);
        if (!larger) return ENOMEM;
        frames->messages = larger;
        frames->room = room;
    }
    zmq_msg_t *added = &frames->messages[frames->last++];
    zmq_msg_init(added);
    zmq_msg_move(added, message);
    return 0;
}

static void
clear_frames(gw_frames_t *frames)
{
    while (frames->first < frames->last) zmq_msg_close(&frames->messages[frames->first++]);
    frames->first = frames->last = 0;
}

static void
free_frames(gw_frames_t *frames)
{
    clear_frames(frames);
    free(frames->messages);
    *frames = (gw_frames_t){0};
}

/* ---- what was kept ---- */

/* A frame that was kept, else the next of libzmq's; gives an errno. */
static int
next_frame(gw_socket_t *socket, zmq_msg_t *message)
{
    gw_frames_t *kept = &socket->kept;
    if (kept->first == kept->last) return transfer_receive(socket->zmq, message);
    zmq_msg_move(message, &kept->messages[kept->first]);
    zmq_msg_close(&kept->messages[kept->first++]);
    if (kept->first == kept->last) clear_frames(kept);
    return 0;
}

static bool
reads_ahead(const gw_socket_t *socket)
{
    int type = socket->type;
    return type == ZMQ_ROUTER || type == ZMQ_REP || type == ZMQ_SUB || type == ZMQ_XSUB;
}

/* Adds the frames up to the end of a message to those that are kept; gives an errno. */
static int
keep_to_end(gw_socket_t *socket)
{
    bool more = true;
    int error = 0;
    zmq_msg_t message;
    zmq_msg_init(&message);
    while (more && !(error = transfer_receive(socket->zmq, &message))) {
        more = zmq_msg_more(&message);
        error = add_frame(&socket->kept, &message);
    }
    zmq_msg_close(&message);
    socket->indirect = true;
    return error == EAGAIN ? 0 : error;
}

/* Before a disconnect; gives an errno. These types hold the first frame of a message once they were
 * asked for events, and libzmq aborts when the rest goes with the connection. So it is taken whole. */
int
gw_keep_message(gw_socket_t *socket)
{
    if (!reads_ahead(socket)) return 0;
    int error = 0;
    if (socket->turn == GW_REP_READING && socket->kept.last == 0) error = keep_to_end(socket);
    if (error) return error;
    int events = gw_socket_libzmq_events(socket);
    if (events < 0) return errno;
    return events & ZMQ_POLLIN ? keep_to_end(socket) : 0;
}

/* ---- a REP's turns ---- */

/* Takes the envelope of the next request; messages without a delimiter are dropped. */
static int
take_envelope(gw_socket_t *socket)
{
    gw_frames_t *envelope = &socket->envelope;
    zmq_msg_t message;
    int error;
    zmq_msg_init(&message);
    while (!(error = next_frame(socket, &message))) {
        bool more = zmq_msg_more(&message), delimiter = zmq_msg_size(&message) == 0 && envelope->last > 0;
        error = add_frame(envelope, &message);
        if (error) break;
        if (!more) clear_frames(envelope);
        else if (delimiter) break;
    }
    zmq_msg_close(&message);
    if (error) clear_frames(envelope);
    else socket->turn = GW_REP_READING;
    return error;
}

static int
send_envelope(gw_socket_t *socket)
{
    gw_frames_t *envelope = &socket->envelope;
    while (envelope->first < envelope->last) {
        int error = transfer_send(socket->zmq, &envelope->messages[envelope->first], ZMQ_SNDMORE);
        if (error) return error;
        envelope->first++;
    }
    clear_frames(envelope);
    socket->turn = GW_REP_REPLYING;
    return 0;
}

int
gw_receive_indirectly(gw_socket_t *socket, zmq_msg_t *message)
{
    if (socket->type != ZMQ_REP) {
        int error = next_frame(socket, message);
        if (socket->kept.last == 0) socket->indirect = false;
        return error;
    }
    if (socket->turn == GW_REP_OWES || socket->turn == GW_REP_REPLYING) return EFSM;
    int error = socket->turn == GW_REP_READING ? 0 : take_envelope(socket);
    if (!error) error = next_frame(socket, message);
    if (!error && !zmq_msg_more(message)) socket->turn = GW_REP_OWES;
    return error;
}

int
gw_send_indirectly(gw_socket_t *socket, zmq_msg_t *message, int flags)
{
    if (socket->type != ZMQ_REP) return transfer_send(socket->zmq, message, flags);
    if (socket->turn == GW_REP_IDLE || socket->turn == GW_REP_READING) return EFSM;
    int error = socket->turn == GW_REP_OWES ? send_envelope(socket) : 0;
    if (!error) error = transfer_send(socket->zmq, message, flags);
    if (!error && !(flags & ZMQ_SNDMORE)) socket->turn = GW_REP_IDLE;
    return error;
}

/* ZMQ_EVENTS as the socket's user sees them, of those that libzmq tells; -1 with errno set. */
int
gw_events_indirectly(gw_socket_t *socket, int events)
{
    bool kept = socket->kept.last > 0;
    if (socket->type != ZMQ_REP) return kept ? events | ZMQ_POLLIN : events;
    if (socket->turn == GW_REP_IDLE && (kept || events & ZMQ_POLLIN)) {
        int error = take_envelope(socket);
        if (error && error != EAGAIN) {
            errno = error;
            return -1;
        }
    }
    if (socket->turn == GW_REP_IDLE) return 0;
    return socket->turn == GW_REP_READING ? ZMQ_POLLIN : ZMQ_POLLOUT;
}

void
gw_forget_frames(gw_socket_t *socket)
{
    free_frames(&socket->kept);
    free_frames(&socket->envelope);
    socket->turn = GW_REP_IDLE;
    socket->indirect = socket->type == ZMQ_REP;
}
