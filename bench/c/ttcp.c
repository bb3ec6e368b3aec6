/* The parts of C ttcp that the tests and the benchmark need:
 * ttcp -t|-r [-s] [-u] [-l N] [-n N] [-p N] [HOST]. Its lines go to standard output with -s, else
 * to standard error, as those of ttcp do. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int transmit, sink, udp, length = 8192, count = 2048;
static const char *port = "5001";
static long calls;

static void fail(const char *what) {
    fprintf(stderr, "ttcp%s: %s: %s\n", transmit ? "-t" : "-r", what, strerror(errno));
    exit(1);
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static struct addrinfo *resolve(const char *host) {
    struct addrinfo hints = {.ai_flags = host ? 0 : AI_PASSIVE,
                             .ai_family = host ? AF_UNSPEC : AF_INET6,
                             .ai_socktype = udp ? SOCK_DGRAM : SOCK_STREAM};
    struct addrinfo *found;
    if (getaddrinfo(host, port, &hints, &found)) fail("getaddrinfo");
    return found;
}

static int open_sender(const char *host) {
    for (struct addrinfo *one = resolve(host); one; one = one->ai_next) {
        int fd = socket(one->ai_family, one->ai_socktype, 0);
        if (fd >= 0 && connect(fd, one->ai_addr, one->ai_addrlen) == 0) return fd;
        if (fd >= 0) close(fd);
    }
    fail("connect");
    return -1;
}

static int open_receiver(void) {
    struct addrinfo *any = resolve(NULL);
    int fd = socket(any->ai_family, any->ai_socktype, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, any->ai_addr, any->ai_addrlen)) fail("bind");
    if (!udp && listen(fd, 1)) fail("listen");
    fprintf(sink ? stdout : stderr, "ttcp-r: buflen=%d, nbuf=%d, port=%s\n", length, count, port);
    fflush(stdout);
    return udp ? fd : accept(fd, NULL, NULL);
}

static long write_all(int fd, const char *buffer, long size) {
    long done = 0;
    while (done < size) {
        long one = write(fd, buffer + done, size - done);
        if (one < 0) fail("write");
        done += one;
    }
    calls++;
    return done;
}

static long send_data(int fd, char *buffer) {
    long bytes = 0, size;
    for (int i = 0; i < length; i++) buffer[i] = ' ' + i % 95;
    if (udp) write_all(fd, buffer, 4);
    if (sink) {
        for (int i = 0; i < count; i++) bytes += write_all(fd, buffer, length);
    } else {
        while ((size = read(0, buffer, length)) > 0) bytes += write_all(fd, buffer, size);
    }
    for (int i = 0; udp && i < 5; i++) (void)!write(fd, buffer, 4);
    return bytes;
}

/* Datagrams of up to 4 bytes are marks: the first begins, the next ends. */
static long receive_data(int fd, char *buffer, double *start) {
    long bytes = 0, size;
    while ((size = read(fd, buffer, length)) > 0) {
        calls++;
        if (calls == 1) *start = now();
        if (udp && size <= 4) {
            if (calls == 1) continue;
            break;
        }
        if (!sink) write_all(1, buffer, size);
        bytes += size;
    }
    return bytes;
}

int main(int argc, char **argv) {
    int option;
    while ((option = getopt(argc, argv, "trsul:n:p:")) != -1) {
        switch (option) {
        case 't': transmit = 1; break;
        case 'r': transmit = 0; break;
        case 's': sink = 1; break;
        case 'u': udp = 1; break;
        case 'l': length = atoi(optarg); break;
        case 'n': count = atoi(optarg); break;
        case 'p': port = optarg; break;
        default: return 1;
        }
    }
    char *buffer = malloc(length > 5 ? length : 5);
    int fd = transmit ? open_sender(argv[optind]) : open_receiver();
    double start = now();
    long bytes = transmit ? send_data(fd, buffer) : receive_data(fd, buffer, &start);
    double seconds = now() - start;
    FILE *out = sink ? stdout : stderr;
    const char *tag = transmit ? "ttcp-t" : "ttcp-r";
    fprintf(out, "%s: %ld bytes in %.2f real seconds = %.2f KB/sec +++\n", tag, bytes, seconds,
            bytes / seconds / 1024);
    fprintf(out, "%s: %ld I/O calls, msec/call = %.2f, calls/sec = %.2f\n", tag, calls,
            1024 * seconds / calls, calls / seconds);
    return 0;
}
