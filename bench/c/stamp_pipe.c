/* stamp_pipe SIZE SECONDS: writes records to its standard output as fast as it goes, each begun
   with the monotonic clock in nanoseconds. */
#include <signal.h>

#include "bench.h"

int main(int argc, char **argv)
{
    bench_arguments(argc, argv, 2, 2, "stamp_pipe SIZE SECONDS   (standard output is the pipe)");
    size_t size = bench_integer(argv[1], sizeof(int64_t));
    int64_t end = bench_now() + (int64_t)(bench_seconds(argv[2]) * 1e9);
    char *payload = bench_payload(size);
    signal(SIGPIPE, SIG_IGN);
    for (;;) {
        int64_t now = bench_now();
        size_t done = 0;
        if (now >= end) return 0;
        memcpy(payload, &now, sizeof now);
        while (done < size) {
            ssize_t wrote = write(STDOUT_FILENO, payload + done, size - done);
            if (wrote < 0) return 0; /* the reader has seen enough */
            done += (size_t)wrote;
        }
    }
}
