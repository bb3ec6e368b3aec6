/* host FILE [ARGUMENTS]: a program that embeds mruby and Godwit. The module Host in its VMs gives
 * the tests what mruby lacks: further VMs, threads, fork, memory in use, allocations that fail. */
#define _GNU_SOURCE /* RTLD_DEFAULT */
#include "godwit.h"
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <mruby/array.h>
#include <mruby/compile.h>
#include <mruby/error.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <mruby/version.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- the allocator of the first VM; in mruby 4 all VMs share it ---- */

static _Atomic long blocks; /* allocated blocks in use */
static long until;    /* the number of the allocation that fails; 0: none fails */
static bool for_ever; /* all later allocations fail too */
static bool has_failed;

/* After a failure mruby collects garbage and tries again: the second try fails too. */
static bool host_fails(void) {
    if (until == 0) return false;
    if (until > 1) {
        until--;
        return false;
    }
    if (has_failed && !for_ever) until = 0;
    has_failed = true;
    return true;
}

static void *host_memory(void *block, size_t size) {
    if (size == 0) {
        if (block) blocks--;
        free(block);
        return NULL;
    }
    if (host_fails()) return NULL;
    void *result = realloc(block, size);
    if (!block && result) blocks++;
    return result;
}

static void host_define(mrb_state *mrb);

#if MRUBY_RELEASE_MAJOR < 4
static void *host_allocate(mrb_state *mrb, void *block, size_t size, void *unused) {
    return host_memory(block, size);
}

static mrb_state *host_open_first(void) { return mrb_open_allocf(host_allocate, NULL); }
#else
/* Replaces libmruby's function of this name. */
void *mrb_basic_alloc_func(void *block, size_t size) { return host_memory(block, size); }

static mrb_state *host_open_first(void) { return mrb_open(); }
#endif

static mrb_state *host_vm(mrb_state *mrb) {
    if (!mrb) abort();
    godwit_mruby_open(mrb);
    host_define(mrb);
    if (mrb->exc) {
        mrb_print_error(mrb);
        abort();
    }
    return mrb;
}

static mrb_value host_call(mrb_state *mrb, void *block) {
    return mrb_yield_argv(mrb, *(mrb_value *)block, 0, NULL);
}

/* fail(n, for ever) { } => did the n-th allocation fail?; the block's result or its error */
static mrb_value host_fail(mrb_state *mrb, mrb_value self) {
    mrb_int n;
    mrb_bool all, failed;
    mrb_value block;
    mrb_get_args(mrb, "ib&", &n, &all, &block);
    has_failed = false;
    for_ever = all;
    until = n;
    mrb_value result = mrb_protect_error(mrb, host_call, &block, &failed);
    until = 0;
    return mrb_assoc_new(mrb, mrb_bool_value(has_failed), result);
}

static mrb_value host_blocks(mrb_state *mrb, mrb_value self) {
    mrb_full_gc(mrb);
    return mrb_fixnum_value(blocks);
}

/* rss => KiB in use, after a collection and without memory that malloc retains */
static long host_resident(void) {
    long size, resident;
    malloc_trim(0);
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &size, &resident) != 2) abort();
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static mrb_value host_rss(mrb_state *mrb, mrb_value self) {
    mrb_full_gc(mrb);
    return mrb_fixnum_value(host_resident());
}

/* ---- processes ---- */

/* descriptors => how many this process has open */
static mrb_value host_descriptors(mrb_state *mrb, mrb_value self) {
    int count = -3; /* ., .. and the folder itself */
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) abort();
    while (readdir(folder)) count++;
    closedir(folder);
    return mrb_fixnum_value(count);
}

/* fork { } => the child's exit status: 0, or 1 after an error; -1 if a signal ended it */
static mrb_value host_fork(mrb_state *mrb, mrb_value self) {
    mrb_value block;
    mrb_bool failed;
    int status;
    mrb_get_args(mrb, "&", &block);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        mrb_value result = mrb_protect_error(mrb, host_call, &block, &failed);
        if (failed) {
            mrb->exc = mrb_obj_ptr(result);
            mrb_print_error(mrb);
        }
        mrb_close(mrb);
        exit(failed);
    }
    while (waitpid(pid, &status, 0) < 0) continue;
    return mrb_fixnum_value(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static volatile sig_atomic_t interrupts;
static void host_on_signal(int number) { interrupts++; }

/* interrupt(ms) => the number of signals so far. Sets a timer: a signal each `ms`; 0: no signal */
static mrb_value host_interrupt(mrb_state *mrb, mrb_value self) {
    struct sigaction action = {.sa_handler = host_on_signal}; /* no SA_RESTART: signals end calls */
    mrb_int ms;
    mrb_get_args(mrb, "i", &ms);
    struct itimerval timer = {{0, ms * 1000}, {0, ms * 1000}};
    if (sigaction(SIGALRM, &action, NULL) || setitimer(ITIMER_REAL, &timer, NULL)) abort();
    return mrb_fixnum_value(interrupts);
}

/* cuts => how often a peer vanished in mid-message; test/native/shim/windows.c counts them */
static mrb_value host_cuts(mrb_state *mrb, mrb_value self) {
    long (*count)(void) = (long (*)(void))dlsym(RTLD_DEFAULT, "windows_mid_message");
    return mrb_fixnum_value(count ? count() : 0);
}

/* ---- further VMs ---- */

/* Returns the code's result or error as text, which the caller frees. */
static char *host_run(mrb_state *mrb, const char *code) {
    int arena = mrb_gc_arena_save(mrb);
    mrb_value result = mrb_load_string(mrb, code);
    if (mrb->exc) {
        result = mrb_obj_value(mrb->exc);
        mrb->exc = NULL;
    }
    mrb_value text = mrb_inspect(mrb, result);
    char *copy = strndup(RSTRING_PTR(text), RSTRING_LEN(text));
    mrb_gc_arena_restore(mrb, arena);
    return copy;
}

static mrb_value host_take(mrb_state *mrb, char *text) {
    mrb_value string = mrb_str_new_cstr(mrb, text);
    free(text);
    return string;
}

static double host_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

static mrb_value host_open(mrb_state *mrb, mrb_value self) {
    return mrb_fixnum_value((intptr_t)host_vm(mrb_open()));
}

/* run(vm, code) => the code's result or error, as text */
static mrb_value host_run_in(mrb_state *mrb, mrb_value self) {
    mrb_int vm;
    const char *code;
    mrb_get_args(mrb, "iz", &vm, &code);
    return host_take(mrb, host_run((mrb_state *)(intptr_t)vm, code));
}

/* close(vm) => the seconds that mrb_close took */
static mrb_value host_close(mrb_state *mrb, mrb_value self) {
    mrb_int vm;
    mrb_get_args(mrb, "i", &vm);
    double start = host_now();
    mrb_close((mrb_state *)(intptr_t)vm);
    return mrb_float_value(mrb, host_now() - start);
}

static void *host_thread(void *code) {
    mrb_state *mrb = host_vm(mrb_open());
    char *text = host_run(mrb, code);
    mrb_close(mrb);
    free(code);
    return text;
}

/* start(code) => a thread with a VM of its own, which runs the code */
static mrb_value host_start(mrb_state *mrb, mrb_value self) {
    const char *code;
    pthread_t thread;
    mrb_get_args(mrb, "z", &code);
    if (pthread_create(&thread, NULL, host_thread, strdup(code)) != 0) abort();
    return mrb_fixnum_value((intptr_t)thread);
}

/* join(thread) => the result or error of the thread's code, as text */
static mrb_value host_join(mrb_state *mrb, mrb_value self) {
    mrb_int thread;
    void *text;
    mrb_get_args(mrb, "i", &thread);
    pthread_join((pthread_t)thread, &text);
    return host_take(mrb, text);
}

static void host_define(mrb_state *mrb) {
    struct RClass *host = mrb_define_module(mrb, "Host");
    mrb_define_class_method(mrb, host, "fail", host_fail, MRB_ARGS_REQ(2) | MRB_ARGS_BLOCK());
    mrb_define_class_method(mrb, host, "blocks", host_blocks, MRB_ARGS_NONE());
    mrb_define_class_method(mrb, host, "rss", host_rss, MRB_ARGS_NONE());
    mrb_define_class_method(mrb, host, "descriptors", host_descriptors, MRB_ARGS_NONE());
    mrb_define_class_method(mrb, host, "fork", host_fork, MRB_ARGS_BLOCK());
    mrb_define_class_method(mrb, host, "cuts", host_cuts, MRB_ARGS_NONE());
    mrb_define_class_method(mrb, host, "interrupt", host_interrupt, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, host, "open", host_open, MRB_ARGS_NONE());
    mrb_define_class_method(mrb, host, "run", host_run_in, MRB_ARGS_REQ(2));
    mrb_define_class_method(mrb, host, "close", host_close, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, host, "start", host_start, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, host, "join", host_join, MRB_ARGS_REQ(1));
}

int main(int argc, char **argv) {
    if (argc < 2) return 2;
    FILE *file = fopen(argv[1], "r");
    if (!file) return 2;
    mrb_state *mrb = host_vm(host_open_first());
    mrb_value arguments = mrb_ary_new(mrb);
    for (int i = 2; i < argc; i++) mrb_ary_push(mrb, arguments, mrb_str_new_cstr(mrb, argv[i]));
    mrb_define_global_const(mrb, "ARGV", arguments);
    mrbc_context *context = mrbc_context_new(mrb);
    mrbc_filename(mrb, context, argv[1]);
    mrb_load_file_cxt(mrb, file, context);
    mrbc_context_free(mrb, context);
    fclose(file);
    int failed = mrb->exc != NULL;
    if (failed) mrb_print_error(mrb);
    mrb_close(mrb);
    if (blocks != 0) {
        fprintf(stderr, "host: mrb_close left %ld blocks\n", blocks);
        failed = 1;
    }
    return failed;
}
