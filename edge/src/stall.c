/* godwit_stall: the line of Ruby code that runs too long without a wait. A timer's signal looks for
 * it, so it also finds code that a function of C blocks. */
#include "edge.h"
#include <mruby/irep.h>
#include <mruby/debug.h>
#include <mruby/proc.h>
#include <setjmp.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { STALL_KILL = 10000, STALL_TRIES = 100, STALL_LEAST = 1000 }; /* milliseconds */
enum { STALL_FRAMES = 100000, STALL_TEXT = 512 };

static timer_t stall_timer;
static ngx_msec_t stall_limit;
static volatile ngx_msec_t stall_entered, stall_said; /* said: after so long; 0: not yet */
static volatile sig_atomic_t stall_armed;
static sigjmp_buf stall_fault;

/* ---- the line ---- */

bool gw_stall_own(const char *file) {
    static const char *const own[] = {"edge/lib/", "lib/godwit/", "mruby/lib/"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strncmp(file, own[i], strlen(own[i]))) return true;
    return false;
}

/* The topmost line of an app, else that of the edge's own Ruby. Another fiber may have resumed the
 * one that runs. A signal may have come while mruby changes what is read here. */
__attribute__((no_sanitize_address)) static bool stall_find(mrb_state *mrb, u_char *text) {
    int frames = STALL_FRAMES;
    *text = '\0';
    for (const struct mrb_context *c = mrb->c; c && frames-- > 0; c = c->prev)
        for (const mrb_callinfo *ci = c->ci; ci >= c->cibase && frames-- > 0; ci--) {
            if (!ci->proc || MRB_PROC_CFUNC_P(ci->proc)) continue;
            const mrb_irep *irep = ci->proc->body.irep;
            if (!irep || ci->pc <= irep->iseq || ci->pc > irep->iseq + irep->ilen) continue;
            uint32_t at = (uint32_t)(ci->pc - irep->iseq - 1);
            const char *file = mrb_debug_get_filename(mrb, irep, at);
            if (!file || (*text && gw_stall_own(file))) continue;
            ngx_snprintf(text, STALL_TEXT, "%s:%D%Z", file, mrb_debug_get_line(mrb, irep, at));
            if (!gw_stall_own(file)) return true;
        }
    return *text != '\0';
}

static void stall_faulted(int signal) { siglongjmp(stall_fault, 1); }

const char *gw_stall_place(mrb_state *mrb) {
    static const int faults[] = {SIGSEGV, SIGBUS};
    static struct sigaction before[2];
    static u_char text[STALL_TEXT];
    struct sigaction fault = {.sa_handler = stall_faulted};
    const char *found = NULL;
    if (!gw_vm.inside) return NULL;
    for (int i = 0; i < 2; i++) sigaction(faults[i], &fault, &before[i]);
    if (!sigsetjmp(stall_fault, 1) && stall_find(mrb, text)) found = (const char *)text;
    for (int i = 0; i < 2; i++) sigaction(faults[i], &before[i], NULL);
    return found;
}

/* ---- the timer ---- */

static ngx_msec_t stall_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (ngx_msec_t)now.tv_sec * 1000 + (ngx_msec_t)now.tv_nsec / 1000000;
}

static void stall_arm(ngx_msec_t wait) {
    struct itimerspec when = {
            .it_value = {(time_t)(wait / 1000), (long)(wait % 1000) * 1000000}};
    stall_armed = 1;
    timer_settime(stall_timer, 0, &when, NULL);
}

/* False: mruby was changing what has the line. */
static bool stall_report(ngx_msec_t ran, bool tries) {
    ngx_uint_t level = stall_said ? NGX_LOG_ERR : NGX_LOG_WARN;
    ngx_str_t none = ngx_null_string, *id = gw_vm.current ? &gw_vm.current->id : &none;
    const char *place = gw_stall_place(gw_vm.mrb);
    if (!place && tries) return false;
    ngx_time_sigsafe_update();
    ngx_log_error(level, ngx_cycle->log, 0, "godwit: %s has run for %M ms without a wait%s%s%V",
            place ? place : "Ruby code", ran,
            stall_said ? ": the worker is killed and replaced" : "", id->len ? ", request id " : "",
            id);
    if (stall_said) _exit(EXIT_FAILURE);
    stall_said = ran;
    return true;
}

/* The timer is armed while Ruby runs, and once at most after it: a request needs no system call. A
 * process that was stopped has a second before it is killed. */
static void stall_look(int signal) {
    int error = errno;
    ngx_msec_t ran = stall_now() - stall_entered, wait = stall_limit;
    ngx_msec_t due = stall_said ? ngx_max(STALL_KILL, stall_said + STALL_LEAST) : stall_limit;
    ngx_event_timer_alarm = 1; /* nginx logs other signals that end its epoll_wait */
    stall_armed = 0;
    if (gw_vm.inside && ran < due) stall_arm(ngx_min(due - ran, wait));
    else if (gw_vm.inside) stall_arm(stall_report(ran, ran < due + STALL_TRIES) ? wait : 1);
    errno = error;
}

static void stall_watch(void) {
    stall_entered = stall_now();
    stall_said = 0;
    gw_vm.inside = true; /* from here on the signal arms the timer again */
    if (!stall_armed) stall_arm(stall_limit);
}

void gw_stall_start(ngx_msec_t limit) {
    int number = SIGRTMIN;
    struct sigaction look = {.sa_handler = stall_look, .sa_flags = SA_RESTART};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event._sigev_un._tid = gettid();
    stall_limit = limit;
    if (!limit) return;
    if (!sigaction(number, &look, NULL) && !timer_create(CLOCK_MONOTONIC, &event, &stall_timer)) {
        gw_vm.watch = stall_watch;
        return;
    }
    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, ngx_errno, "godwit_stall has no timer");
}
