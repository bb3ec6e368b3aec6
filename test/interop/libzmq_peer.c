/* A socket of libzmq's C, steered by a test: one command a line on standard input, one answer a
 * line. Frames are hexadecimal, "-" is an empty one. libzmq_peer TYPE bind ENDPOINT | connect
 * ENDPOINT | subscribe HEX | id HEX | send HEX... | recv
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

static const struct {
    const char *name;
    int type;
} types[] = {{"REQ", ZMQ_REQ}, {"REP", ZMQ_REP}, {"XPUB", ZMQ_XPUB}, {"SUB", ZMQ_SUB},
        {"PUSH", ZMQ_PUSH}, {"PULL", ZMQ_PULL}, {"PAIR", ZMQ_PAIR}, {"DEALER", ZMQ_DEALER},
        {"ROUTER", ZMQ_ROUTER}};

static size_t unhex(const char *text, unsigned char *bytes) {
    size_t size = 0;
    unsigned value;
    for (; *text != '-' && sscanf(text, "%2x", &value) == 1; text += 2)
        bytes[size++] = (unsigned char)value;
    return size;
}

static int check(int result) {
    if (result == -1) {
        printf("error %s\n", zmq_strerror(zmq_errno()));
        exit(1);
    }
    return result;
}

static void receive(void *socket) {
    int more;
    size_t size = sizeof more;
    do {
        zmq_msg_t frame;
        zmq_msg_init(&frame);
        check(zmq_msg_recv(&frame, socket, 0));
        const unsigned char *bytes = zmq_msg_data(&frame);
        for (size_t i = 0; i < zmq_msg_size(&frame); i++) printf("%02x", bytes[i]);
        if (zmq_msg_size(&frame) == 0) printf("-");
        zmq_msg_close(&frame);
        check(zmq_getsockopt(socket, ZMQ_RCVMORE, &more, &size));
        if (more) printf(" ");
    } while (more);
    printf("\n");
}

static void obey(void *socket, char *line) {
    static unsigned char bytes[4096];
    char endpoint[256], *word = strtok(line, " \n"), *value = strtok(NULL, " \n");
    size_t size = sizeof endpoint;
    if (!strcmp(word, "recv")) {
        receive(socket);
        return;
    }
    if (!strcmp(word, "bind")) {
        check(zmq_bind(socket, value));
        check(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, endpoint, &size));
        printf("%s\n", endpoint);
        return;
    }
    if (!strcmp(word, "connect")) check(zmq_connect(socket, value));
    if (!strcmp(word, "subscribe"))
        check(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, bytes, unhex(value, bytes)));
    if (!strcmp(word, "id"))
        check(zmq_setsockopt(socket, ZMQ_ROUTING_ID, bytes, unhex(value, bytes)));
    while (!strcmp(word, "send") && value) {
        size = unhex(value, bytes);
        value = strtok(NULL, " \n");
        check(zmq_send(socket, bytes, size, value ? ZMQ_SNDMORE : 0));
    }
    printf("ok\n");
}

int main(int count, char **words) {
    static char line[8192];
    int timeout = 10000, linger = 1000;
    void *context = zmq_ctx_new(), *socket = NULL;
    for (size_t i = 0; count == 2 && i < sizeof types / sizeof *types; i++)
        if (!strcmp(words[1], types[i].name)) socket = zmq_socket(context, types[i].type);
    if (!socket) return 2;
    check(zmq_setsockopt(socket, ZMQ_RCVTIMEO, &timeout, sizeof timeout));
    check(zmq_setsockopt(socket, ZMQ_SNDTIMEO, &timeout, sizeof timeout));
    check(zmq_setsockopt(socket, ZMQ_LINGER, &linger, sizeof linger));
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) obey(socket, line);
    zmq_close(socket);
    zmq_ctx_term(context);
    return 0;
}
