/* CZMQ's side of czmq_test.rb: one command a line on standard input, one answer a line on standard
 * output. Frames go in hexadecimal, an empty one as "-". An answer begins with "ok", or with
 * "error". Ends with its input. */
#include <czmq.h>

enum { MAX_SOCKETS = 16, MAX_WORDS = 256 };

static zsock_t *sockets[MAX_SOCKETS]; /* owned until the end */
static int opened;
static zactor_t *authenticator; /* owned until the end */

static int nibble (char digit)
{
    return digit <= '9' ? digit - '0' : digit - 'a' + 10;
}

/* The frame's bytes, in place of the word; gives their number. */
static size_t from_hex (char *word)
{
    if (streq (word, "-"))
        return 0;
    size_t size = strlen (word) / 2;
    for (size_t i = 0; i < size; i++)
        word[i] = (char) (nibble (word[2 * i]) << 4 | nibble (word[2 * i + 1]));
    return size;
}

static void print_hex (const byte *data, size_t size)
{
    static const char digits[] = "0123456789abcdef";
    putchar (' ');
    if (size == 0)
        putchar ('-');
    for (size_t i = 0; i < size; i++) {
        putchar (digits[data[i] >> 4]);
        putchar (digits[data[i] & 15]);
    }
}

static int type_of (const char *name)
{
    static const struct { const char *name; int type;
    } types[] = {
        {"REQ", ZMQ_REQ},
        {"REP", ZMQ_REP},
        {"DEALER", ZMQ_DEALER},
        {"ROUTER", ZMQ_ROUTER},
        {"PUB", ZMQ_PUB},
        {"SUB", ZMQ_SUB},
        {"PUSH", ZMQ_PUSH},
        {"PULL", ZMQ_PULL},
        {"PAIR", ZMQ_PAIR},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (streq (types[i].name, name))
            return types[i].type;
    return -1;
}

static int set_option (zsock_t *sock, const char *name, const char *value)
{
    static const struct { const char *name; void (*set) (void *, const char *);
    } texts[] = {
        {"identity", zsock_set_identity},
        {"subscribe", zsock_set_subscribe},
        {"unsubscribe", zsock_set_unsubscribe},
        {"plain_username", zsock_set_plain_username},
        {"plain_password", zsock_set_plain_password},
        {"curve_publickey", zsock_set_curve_publickey},
        {"curve_secretkey", zsock_set_curve_secretkey},
        {"curve_serverkey", zsock_set_curve_serverkey},
        {"zap_domain", zsock_set_zap_domain},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (streq (texts[i].name, name)) {
            texts[i].set (sock, value);
            return 0;
        }
    if (streq (name, "plain_server"))
        zsock_set_plain_server (sock, 1);
    else if (streq (name, "curve_server"))
        zsock_set_curve_server (sock, 1);
    else
        return -1;
    return 0;
}

static zmsg_t *message_of (char **words, int count)
{
    zmsg_t *message = zmsg_new ();
    for (int i = 0; i < count; i++)
        zmsg_addmem (message, words[i], from_hex (words[i]));
    return message;
}

static void print_message (zmsg_t *message)
{
    printf ("ok");
    for (zframe_t *frame = zmsg_first (message); frame; frame = zmsg_next (message))
        print_hex (zframe_data (frame), zframe_size (frame));
    putchar ('\n');
}

static void recv_message (zsock_t *sock)
{
    zmsg_t *message = zmsg_recv (sock);
    if (message)
        print_message (message);
    else
        puts ("ok none");
    zmsg_destroy (&message);
}

/* auth PLAIN FILE, or auth CURVE DIRECTORY (or *): CZMQ's authenticator, for this process's
 * context. */
static int authenticate (char **words)
{
    if (!authenticator)
        authenticator = zactor_new (zauth, NULL);
    if (!authenticator || zstr_sendx (authenticator, words[0], words[1], NULL) != 0)
        return -1;
    return zsock_wait (authenticator);
}

static void encode (char **words, int count)
{
    zmsg_t *message = message_of (words, count);
    zframe_t *data = zmsg_encode (message);
    printf ("ok");
    print_hex (zframe_data (data), zframe_size (data));
    putchar ('\n');
    zframe_destroy (&data);
    zmsg_destroy (&message);
}

static void decode (char *word)
{
    zframe_t *data = zframe_new (word, from_hex (word));
    zmsg_t *message = zmsg_decode (data);
    if (message)
        print_message (message);
    else
        puts ("ok none");
    zmsg_destroy (&message);
    zframe_destroy (&data);
}

static void new_keys (void)
{
    zcert_t *keys = zcert_new ();
    printf ("ok %s %s\n", zcert_public_txt (keys), zcert_secret_txt (keys));
    zcert_destroy (&keys);
}

static void done (int rc)
{
    if (rc == 0)
        puts ("ok");
    else
        printf ("error %s\n", zmq_strerror (zmq_errno ()));
}

static void on_socket (zsock_t *sock, const char *what, char **words, int count)
{
    if (streq (what, "set"))
        done (set_option (sock, words[0], count > 1 ? words[1] : ""));
    else if (streq (what, "bind")) {
        if (zsock_bind (sock, "%s", words[0]) == -1)
            done (-1);
        else
            printf ("ok %s\n", zsock_endpoint (sock));
    } else if (streq (what, "connect"))
        done (zsock_connect (sock, "%s", words[0]));
    else if (streq (what, "send")) {
        zmsg_t *message = message_of (words, count);
        done (zmsg_send (&message, sock));
        zmsg_destroy (&message);
    } else if (streq (what, "recv")) {
        zsock_set_rcvtimeo (sock, atoi (words[0]));
        recv_message (sock);
    } else
        puts ("error no such command for a socket");
}

static void open_socket (const char *name)
{
    zsock_t *sock = opened < MAX_SOCKETS ? zsock_new (type_of (name)) : NULL;
    if (!sock) {
        puts ("error no socket");
        return;
    }
    zsock_set_sndtimeo (sock, 5000);
    zsock_set_linger (sock, 0);
    sockets[opened] = sock;
    printf ("ok %d\n", opened++);
}

static void obey (char **words, int count)
{
    if (streq (words[0], "open") && count == 2)
        open_socket (words[1]);
    else if (streq (words[0], "encode"))
        encode (words + 1, count - 1);
    else if (streq (words[0], "decode") && count == 2)
        decode (words[1]);
    else if (streq (words[0], "auth") && count == 3)
        done (authenticate (words + 1));
    else if (streq (words[0], "keypair"))
        new_keys ();
    else if (count >= 3 && atoi (words[1]) < opened)
        on_socket (sockets[atoi (words[1])], words[0], words + 2, count - 2);
    else
        puts ("error no such command");
}

int main (void)
{
    char *line = NULL; /* owned: getline's */
    size_t room = 0;
    zsys_init ();
    printf ("ok %d.%d.%d\n", CZMQ_VERSION_MAJOR, CZMQ_VERSION_MINOR, CZMQ_VERSION_PATCH);
    fflush (stdout);
    while (getline (&line, &room, stdin) > 0) {
        char *words[MAX_WORDS];
        int count = 0;
        for (char *word = strtok(line, " \n"); word && count < MAX_WORDS;
             word = strtok(NULL, " \n"))
            words[count++] = word;
        if (count == 0)
            continue;
        obey (words, count);
        fflush (stdout);
    }
    zactor_destroy (&authenticator);
    while (opened > 0)
        zsock_destroy (&sockets[--opened]);
    free (line);
    return 0;
}
