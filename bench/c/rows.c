/* rows COUNT: writes COUNT rows of 100 bytes, newline included, 64 KiB at a time, for
   bench/shell.rb. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROW = 100, ROWS = 655 };

static void write_all(const char *from, size_t size)
{
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, from, size);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) exit(1);
        from += written;
        size -= (size_t)written;
    }
}

int main(int argc, char **argv)
{
    static char buffer[ROW * ROWS];
    long count = argc == 2 ? atol(argv[1]) : 0;
    if (count <= 0) {
        fprintf(stderr, "usage: rows COUNT\n");
        return 2;
    }
    memset(buffer, 'x', sizeof buffer);
    for (int row = 1; row <= ROWS; row++) buffer[row * ROW - 1] = '\n';
    while (count > 0) {
        long rows = count < ROWS ? count : ROWS;
        write_all(buffer, (size_t)rows * ROW);
        count -= rows;
    }
    return 0;
}
