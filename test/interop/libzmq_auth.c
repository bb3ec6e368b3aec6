/* libzmq alone, for auth_test.rb:
 *   libzmq_auth client ENDPOINT curve PUBLIC SECRET SERVER_KEY
 *   libzmq_auth client ENDPOINT plain NAME PASSWORD
 *   libzmq_auth client ENDPOINT null
 * sends a request and prints "reply: …", or "refused: STATUS" when the handshake fails.
 *   libzmq_auth server ENDPOINT curve SECRET ALLOWED_KEY
 *   libzmq_auth server ENDPOINT plain NAME PASSWORD
 * has a ZAP handler of its own, prints its endpoint, then the user id and address of each request;
 * it replies with the user id, and ends with its standard input. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum { LONGEST = 256, KEY = 41, PATIENCE = 20000 /* ms */ };

static void *context;
static char *name_or_key; /* borrowed from argv */
static char *password;    /* borrowed from argv; NULL with CURVE */

static void check (int good, const char *what)
{
    if (good)
        return;
    printf ("%s: %s\n", what, zmq_strerror (zmq_errno ()));
    exit (3);
}

static int frame (void *socket, char *into)
{
    int size = zmq_recv (socket, into, LONGEST - 1, 0);
    if (size >= 0)
        into[size < LONGEST ? size : LONGEST - 1] = 0;
    return size;
}

static int known (char credentials[2][LONGEST])
{
    char text[KEY];
    if (password)
        return strcmp (credentials[0], name_or_key) == 0
               && strcmp (credentials[1], password) == 0;
    zmq_z85_encode (text, (unsigned char *) credentials[0], 32);
    return strcmp (text, name_or_key) == 0;
}

/* RFC 27: the thread answers until the context ends. */
static void *authenticate (void *handler)
{
    char head[6][LONGEST], credentials[2][LONGEST];
    while (frame (handler, head[0]) >= 0) {
        for (int i = 1; i < 6; i++)
            frame (handler, head[i]);
        for (int i = 0; i < (password ? 2 : 1); i++)
            frame (handler, credentials[i]);
        int good = known (credentials);
        const char *id = good ? "known to C" : "";
        zmq_send (handler, head[0], strlen (head[0]), ZMQ_SNDMORE);
        zmq_send (handler, head[1], strlen (head[1]), ZMQ_SNDMORE);
        zmq_send (handler, good ? "200" : "400", 3, ZMQ_SNDMORE);
        zmq_send (handler, "", 0, ZMQ_SNDMORE);
        zmq_send (handler, id, strlen (id), ZMQ_SNDMORE);
        zmq_send (handler, "", 0, 0);
    }
    zmq_close (handler);
    return NULL;
}

static void *end_with_input (void *unused)
{
    while (getchar () != EOF)
        ;
    zmq_ctx_shutdown (context);
    return unused;
}

static void serve (void *rep, const char *endpoint)
{
    char bound[LONGEST], body[LONGEST];
    size_t size = sizeof bound;
    pthread_t thread;
    void *handler = zmq_socket (context, ZMQ_REP);
    check (zmq_bind (handler, "inproc://zeromq.zap.01") == 0, "bind the handler");
    pthread_create (&thread, NULL, authenticate, handler);
    zmq_setsockopt (rep, ZMQ_ZAP_DOMAIN, "test", 4);
    check (zmq_bind (rep, endpoint) == 0, "bind");
    zmq_getsockopt (rep, ZMQ_LAST_ENDPOINT, bound, &size);
    printf ("%s\n", bound);
    fflush (stdout);
    pthread_create (&(pthread_t){0}, NULL, end_with_input, NULL);
    for (;;) {
        zmq_msg_t request;
        zmq_msg_init (&request);
        if (zmq_msg_recv (&request, rep, 0) < 0)
            break;
        snprintf (body, sizeof body, "%s", zmq_msg_gets (&request, "User-Id"));
        printf ("%s from %s\n", body, zmq_msg_gets (&request, "Peer-Address"));
        fflush (stdout);
        zmq_msg_close (&request);
        zmq_send (rep, body, strlen (body), 0);
    }
    zmq_close (rep);
    pthread_join (thread, NULL);
    zmq_ctx_term (context);
}

/* Waits for the reply, or for the event that tells of a refusal. */
static void ask (void *req, const char *endpoint)
{
    char body[LONGEST];
    int linger = 0;
    zmq_setsockopt (req, ZMQ_LINGER, &linger, sizeof linger);
    zmq_socket_monitor (req, "inproc://events", ZMQ_EVENT_HANDSHAKE_FAILED_AUTH);
    void *events = zmq_socket (context, ZMQ_PAIR);
    check (zmq_connect (events, "inproc://events") == 0, "monitor");
    check (zmq_connect (req, endpoint) == 0, "connect");
    zmq_send (req, "who am I?", 9, 0);
    zmq_pollitem_t items[] = {{req, 0, ZMQ_POLLIN, 0}, {events, 0, ZMQ_POLLIN, 0}};
    check (zmq_poll (items, 2, PATIENCE) > 0, "wait");
    if (items[0].revents & ZMQ_POLLIN) {
        frame (req, body);
        printf ("reply: %s\n", body);
    } else {
        unsigned char event[6];
        zmq_recv (events, event, sizeof event, 0);
        printf ("refused: %d\n", event[2] | event[3] << 8);
    }
    zmq_close (events);
    zmq_close (req);
    zmq_ctx_term (context);
}

static void secure_client (void *socket, char **words)
{
    if (strcmp (words[0], "curve") == 0) {
        zmq_setsockopt (socket, ZMQ_CURVE_PUBLICKEY, words[1], KEY);
        zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, words[2], KEY);
        check (zmq_setsockopt (socket, ZMQ_CURVE_SERVERKEY, words[3], KEY) == 0, "keys");
    } else if (strcmp (words[0], "plain") == 0) {
        zmq_setsockopt (socket, ZMQ_PLAIN_USERNAME, words[1], strlen (words[1]));
        zmq_setsockopt (socket, ZMQ_PLAIN_PASSWORD, words[2], strlen (words[2]));
    }
}

static void secure_server (void *socket, char **words)
{
    int yes = 1;
    if (strcmp (words[0], "curve") == 0) {
        zmq_setsockopt (socket, ZMQ_CURVE_SERVER, &yes, sizeof yes);
        check (zmq_setsockopt (socket, ZMQ_CURVE_SECRETKEY, words[1], KEY) == 0, "key");
        name_or_key = words[2];
    } else {
        zmq_setsockopt (socket, ZMQ_PLAIN_SERVER, &yes, sizeof yes);
        name_or_key = words[1];
        password = words[2];
    }
}

int main (int count, char **words)
{
    if (count < 4)
        return 2;
    context = zmq_ctx_new ();
    if (strcmp (words[1], "client") == 0) {
        void *req = zmq_socket (context, ZMQ_REQ);
        secure_client (req, words + 3);
        ask (req, words[2]);
    } else {
        void *rep = zmq_socket (context, ZMQ_REP);
        secure_server (rep, words + 3);
        serve (rep, words[2]);
    }
    return 0;
}
