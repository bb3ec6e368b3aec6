/* Writes and reads with CZMQ, for the interop tests:
 *   czmq_tool encode                      messages on standard input, one a line, become encodings
 *   czmq_tool decode                      the reverse
 *   czmq_tool save PATH [NAME VALUE]...   a new certificate; prints its keys
 *   czmq_tool load PATH                   prints the keys, then NAME=VALUE lines
 *   czmq_tool beacon PORT PAYLOAD         prints the host name, then address and payload of each
 *                                         beacon that it receives, until its input ends
 * Frames and encodings are hexadecimal, an empty one is "-". */
#include <czmq.h>

/* Replaces the hexadecimal text by its bytes. Returns the number of bytes. */
static size_t from_hex (char *text)
{
    size_t size = 0;
    unsigned value;
    while (sscanf (text + 2 * size, "%2x", &value) == 1)
        text[size++] = (char) value;
    return size;
}

static void print_hex (zframe_t *frame)
{
    char *hex = zframe_strhex (frame);
    printf ("%s ", *hex ? hex : "-");
    zstr_free (&hex);
}

static void encode (char *line)
{
    zmsg_t *message = zmsg_new ();
    for (char *word = strtok (line, " \n"); word; word = strtok (NULL, " \n"))
        zmsg_addmem (message, word, *word == '-' ? 0 : from_hex (word));
    zframe_t *data = zmsg_encode (message);
    print_hex (data);
    zframe_destroy (&data);
    zmsg_destroy (&message);
}

static void decode (char *line)
{
    zframe_t *data = zframe_new (line, from_hex (line));
    zmsg_t *message = zmsg_decode (data);
    for (zframe_t *frame = zmsg_first (message); frame; frame = zmsg_next (message))
        print_hex (frame);
    zmsg_destroy (&message);
    zframe_destroy (&data);
}

static int each_line (void (*call) (char *))
{
    char *line = NULL; /* getline allocates this buffer, and free releases it below */
    size_t room = 0;
    while (getline (&line, &room, stdin) > 0) {
        call (line);
        putchar ('\n');
    }
    free (line);
    return 0;
}

static int print (zcert_t *cert)
{
    if (!cert)
        return 1;
    printf ("%s\n%s\n", zcert_public_txt (cert), zcert_secret_txt (cert));
    zlist_t *names = zcert_meta_keys (cert);
    for (char *name = zlist_first (names); name; name = zlist_next (names))
        printf ("%s=%s\n", name, zcert_meta (cert, name));
    zlist_destroy (&names);
    return 0;
}

static int save (const char *path, char **words, int count)
{
    zcert_t *cert = zcert_new ();
    for (int i = 0; i + 1 < count; i += 2)
        zcert_set_meta (cert, words[i], "%s", words[i + 1]);
    return zcert_save (cert, path) || print (cert);
}

static int beacon (int port, char *payload)
{
    setvbuf (stdout, NULL, _IOLBF, 0);
    zactor_t *actor = zactor_new (zbeacon, NULL);
    zsock_send (actor, "si", "CONFIGURE", port);
    char *host = zstr_recv (actor);
    printf ("host %s\n", host ? host : "");
    zstr_free (&host);
    /* CZMQ drops received payloads that equal its own published one, so PUBLISH comes first. */
    zsock_send (actor, "sbi", "PUBLISH", payload, from_hex (payload), 20);
    zsock_send (actor, "sb", "SUBSCRIBE", "", (size_t) 0);

    int input = STDIN_FILENO;
    zpoller_t *poller = zpoller_new (actor, NULL);
    zpoller_add (poller, &input);
    zmsg_t *received;
    while (zpoller_wait (poller, -1) == actor && (received = zmsg_recv (actor))) {
        char *address = zmsg_popstr (received);
        printf ("received %s ", address);
        print_hex (zmsg_first (received));
        putchar ('\n');
        zstr_free (&address);
        zmsg_destroy (&received);
    }
    zpoller_destroy (&poller);
    zactor_destroy (&actor);
    return 0;
}

int main (int count, char **words)
{
    const char *what = count > 1 ? words[1] : "";
    if (streq (what, "encode"))
        return each_line (encode);
    if (streq (what, "decode"))
        return each_line (decode);
    if (streq (what, "save"))
        return save (words[2], words + 3, count - 3);
    if (streq (what, "load"))
        return print (zcert_load (words[2]));
    return streq (what, "beacon") ? beacon (atoi (words[2]), words[3]) : 2;
}
