/* A host program of the library: `host FILE` runs a Ruby file in a VM that can open further VMs,
 * fork, and let the allocator fail. */
#include "godwit.h"
#include <mruby/class.h>
#include <mruby/compile.h>
#include <mruby/string.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 8 };

static long allocations_left = -1; /* negative: the allocator does not fail */
static mrb_state *vms[MOST];

/* From the chosen call on every allocation fails, also the one after mruby has collected. */
static void *host_allocate(mrb_state *mrb, void *memory, size_t size, void *unused) {
    if (size == 0) {
        free(memory);
        return NULL;
    }
    if (allocations_left == 0) return NULL;
    if (allocations_left > 0) allocations_left--;
    return realloc(memory, size);
}

/* fail_after(n): the n-th allocation from now on is the last that succeeds; -1: all succeed */
static mrb_value host_fail_after(mrb_state *mrb, mrb_value self) {
    mrb_int count;
    mrb_get_args(mrb, "i", &count);
    allocations_left = count;
    return mrb_nil_value();
}

static mrb_state *host_open(void) {
    mrb_state *mrb = mrb_open();
    if (mrb) godwit_mruby_open(mrb);
    if (!mrb || mrb->exc) abort();
    return mrb;
}

static void host_run(mrb_state *mrb, const char *code) {
    mrb_load_string(mrb, code);
    if (mrb->exc) mrb_print_error(mrb);
    mrb->exc = NULL;
}

/* in_vm(number, code): runs the code in that VM, which is opened at its first use */
static mrb_value host_in_vm(mrb_state *mrb, mrb_value self) {
    mrb_int number;
    const char *code;
    mrb_get_args(mrb, "iz", &number, &code);
    if (number < 0 || number >= MOST) abort();
    if (!vms[number]) vms[number] = host_open();
    host_run(vms[number], code);
    return mrb_nil_value();
}

static mrb_value host_close_vm(mrb_state *mrb, mrb_value self) {
    mrb_int number;
    mrb_get_args(mrb, "i", &number);
    if (number < 0 || number >= MOST || !vms[number]) abort();
    mrb_close(vms[number]);
    vms[number] = NULL;
    return mrb_nil_value();
}

static void *host_run_thread(void *code) {
    mrb_state *mrb = host_open();
    host_run(mrb, code);
    mrb_close(mrb);
    return NULL;
}

/* in_thread(code) { … }: runs the code in a VM of another thread, which ends after the block */
static mrb_value host_in_thread(mrb_state *mrb, mrb_value self) {
    const char *code;
    mrb_value block;
    pthread_t thread;
    mrb_get_args(mrb, "z&", &code, &block);
    if (pthread_create(&thread, NULL, host_run_thread, (void *)code) != 0) abort();
    mrb_yield_argv(mrb, block, 0, NULL);
    pthread_join(thread, NULL);
    return mrb_nil_value();
}

/* in_child { … } => exit status; the child closes its VM */
static mrb_value host_in_child(mrb_state *mrb, mrb_value self) {
    mrb_value block;
    int status;
    mrb_get_args(mrb, "&", &block);
    fflush(stdout);
    pid_t pid = fork();
    if (pid < 0) abort();
    if (pid == 0) {
        mrb_yield_argv(mrb, block, 0, NULL);
        mrb_close(mrb);
        exit(0);
    }
    waitpid(pid, &status, 0);
    return mrb_fixnum_value(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

/* resident => KiB */
static mrb_value host_resident(mrb_state *mrb, mrb_value self) {
    long size, pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &pages) != 2) abort();
    fclose(file);
    return mrb_fixnum_value(pages * (sysconf(_SC_PAGESIZE) / 1024));
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    FILE *file = argc == 2 ? fopen(argv[1], "r") : NULL;
    mrb_state *mrb = file ? mrb_open_allocf(host_allocate, NULL) : NULL;
    if (!mrb) return 2;
    godwit_mruby_open(mrb);
    struct RClass *kernel = mrb->kernel_module;
    mrb_define_method(mrb, kernel, "fail_after", host_fail_after, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, kernel, "in_vm", host_in_vm, MRB_ARGS_REQ(2));
    mrb_define_method(mrb, kernel, "close_vm", host_close_vm, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, kernel, "in_thread", host_in_thread, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, kernel, "in_child", host_in_child, MRB_ARGS_NONE());
    mrb_define_method(mrb, kernel, "resident", host_resident, MRB_ARGS_NONE());
    mrb_load_file(mrb, file);
    fclose(file);
    int status = mrb->exc ? 1 : 0;
    if (mrb->exc) mrb_print_error(mrb);
    mrb_close(mrb);
    return status;
}
