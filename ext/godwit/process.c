/* The process: the counter of its forks, the state that a forked child resets, and its free
 * descriptors. The caller needs no lock. */
#include "core.h"
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>

atomic_uint gw_generation = 1;

static void (*after_fork[6])(void); /* functions of higher layers, which register them at load */
static int forks;

static void process_in_forked_child(void) {
    atomic_fetch_add(&gw_generation, 1);
    for (int i = 0; i < forks; i++) after_fork[i]();
}

/* libzmq aborts the process when it finds no descriptor for its threads or to resolve an address.
 * So Godwit opens that many descriptors first, and closes them. */
int gw_descriptors(int needed) {
    int *fds = malloc(needed * sizeof *fds), count = 0, error = 0;
    if (!fds) return ENOMEM;
    while (count < needed && !error) {
        int fd = eventfd(0, EFD_CLOEXEC);
        if (fd < 0) error = errno;
        else fds[count++] = fd;
    }
    while (count > 0) close(fds[--count]);
    free(fds);
    return error;
}

void gw_after_fork(void (*function)(void)) { after_fork[forks++] = function; }

void gw_init_process(void) { pthread_atfork(NULL, NULL, process_in_forked_child); }
