/* open_vm: opens a VM with Godwit; prints the milliseconds and the KiB of its own memory (RssAnon).
 */
#include "godwit.h"
#include <stdio.h>
#include <string.h>
#include <time.h>

static double open_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1e3 + now.tv_nsec / 1e6;
}

static long open_memory(void) {
    char line[256];
    long kib = 0;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status)) sscanf(line, "RssAnon: %ld", &kib);
    if (status) fclose(status);
    return kib;
}

int main(void) {
    long before = open_memory();
    double start = open_now();
    mrb_state *mrb = mrb_open();
    if (!mrb) return 1;
    godwit_mruby_open(mrb);
    double end = open_now();
    if (mrb->exc) return 1;
    printf("%.3f\n%ld\n", end - start, open_memory() - before);
    mrb_close(mrb);
    return 0;
}
