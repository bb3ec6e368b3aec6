/* CZMQ's side of beacon_test.rb: czmq_beacon PORT PAYLOAD, the payload in hexadecimal. Writes its
 * host name, then each beacon that it hears as address and hexadecimal. Ends with its input. */
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

int main (int argc, char **argv)
{
    if (argc != 3)
        return 2;
    setvbuf (stdout, NULL, _IOLBF, 0);
    zactor_t *beacon = zactor_new (zbeacon, NULL);
    zsock_send (beacon, "si", "CONFIGURE", atoi (argv[1]));
    char *host = zstr_recv (beacon);
    printf ("host %s\n", host ? host : "");
    zstr_free (&host);

    byte payload[BEACON_MAX];
    size_t size = from_hex (argv[2], payload);
    zsock_send (beacon, "sbi", "PUBLISH", payload, size, 20); /* first: it filters equal payloads */
    zsock_send (beacon, "sb", "SUBSCRIBE", "", (size_t) 0);

    int input = STDIN_FILENO;
    zpoller_t *poller = zpoller_new (beacon, NULL);
    zpoller_add (poller, &input);
    zmsg_t *received;
    while (zpoller_wait (poller, -1) == beacon && (received = zmsg_recv (beacon))) {
        print_received (received);
        zmsg_destroy (&received);
    }
    zpoller_destroy (&poller);
    zactor_destroy (&beacon);
    return 0;
}
