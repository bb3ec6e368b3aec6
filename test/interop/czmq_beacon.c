/* CZMQ's side of beacon_test.rb: czmq_beacon PORT PAYLOAD INTERVAL_MS PREFIX, both texts in
 * hexadecimal, an empty one as "-". Writes its host name, then each beacon that it hears as address
 * and hexadecimal. Commands on standard input: "silence", "publish HEX", "unsubscribe". Ends with
 * its input. */
#include <czmq.h>

enum { BEACON_MAX = 255 };

/* The text's bytes; gives their number. */
static size_t from_hex (const char *text, byte *bytes)
{
    size_t size = 0;
    unsigned int value;
    while (size < BEACON_MAX && sscanf (text + 2 * size, "%2x", &value) == 1)
        bytes[size++] = (byte) value;
    return size;
}

static void publish (zactor_t *beacon, const char *text, int interval)
{
    byte payload[BEACON_MAX];
    size_t size = from_hex (text, payload);
    if (size > 0)
        zsock_send (beacon, "sbi", "PUBLISH", payload, size, interval);
}

static void print_received (zmsg_t *received)
{
    char *address = zmsg_popstr (received);
    zframe_t *payload = zmsg_pop (received);
    char *hex = zframe_strhex (payload);
    printf ("received %s %s\n", address, hex);
    zstr_free (&hex);
    zframe_destroy (&payload);
    zstr_free (&address);
}

/* False at the end of the input. */
static bool obey (zactor_t *beacon, int interval)
{
    char line[2 * BEACON_MAX + 32];
    ssize_t size = read(STDIN_FILENO, line,
        sizeof line - 1); /* one command at a time: the test awaits its effect */
    if (size <= 0)
        return false;
    line[size] = 0;
    line[strcspn (line, "\n")] = 0;
    if (strncmp (line, "publish ", 8) == 0)
        publish (beacon, line + 8, interval);
    else
        zstr_sendx (beacon, streq (line, "silence") ? "SILENCE" : "UNSUBSCRIBE", NULL);
    printf ("did %s\n", line);
    return true;
}

int main (int argc, char **argv)
{
    if (argc != 5)
        return 2;
    setvbuf (stdout, NULL, _IOLBF, 0);
    zactor_t *beacon = zactor_new (zbeacon, NULL);
    zsock_send (beacon, "si", "CONFIGURE", atoi (argv[1]));
    char *host = zstr_recv (beacon);
    printf ("host %s\n", host ? host : "");
    zstr_free (&host);

    int interval = atoi (argv[3]);
    byte prefix[BEACON_MAX];
    publish (beacon, argv[2], interval); /* first: equal payloads are filtered from the start */
    zsock_send (beacon, "sb", "SUBSCRIBE", prefix, from_hex (argv[4], prefix));

    int input = STDIN_FILENO;
    zpoller_t *poller = zpoller_new (beacon, NULL);
    zpoller_add (poller, &input);
    for (bool on = true; on;) {
        void *which = zpoller_wait (poller, -1);
        if (which == beacon) {
            zmsg_t *received = zmsg_recv (beacon);
            if (!received)
                break;
            print_received (received);
            zmsg_destroy (&received);
        }
        else
            on = which == &input && obey (beacon, interval);
    }
    zpoller_destroy (&poller);
    zactor_destroy (&beacon);
    return 0;
}
