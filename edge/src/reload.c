/* HUP: a child of the master runs the app files of the new configuration. If one fails, nginx goes
 * on with the old configuration. */
#include "edge.h"
#include <time.h>

enum { RELOAD_SECONDS = 10 };

/* SIGKILL needs no help of the process, which may be in a loop. */
static bool reload_limit_time(void) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec time = {.it_value.tv_sec = RELOAD_SECONDS};
    timer_t timer;
    return !timer_create(CLOCK_MONOTONIC, &event, &timer) && !timer_settime(timer, 0, &time, NULL);
}

/* The master's signals are blocked. Ctrl-C reaches the child too. */
static void reload_reset_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
    sigset_t none;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The user, the folder and the environment of a worker. */
static bool reload_become_worker(ngx_cycle_t *cycle) {
    ngx_core_conf_t *core = (ngx_core_conf_t *)ngx_get_conf(cycle->conf_ctx, ngx_core_module);
    char *folder = (char *)core->working_directory.data;
    if (!geteuid() && (setgid(core->group) || initgroups(core->username, core->group) ||
            setuid(core->user)))
        return false;
    if (folder && chdir(folder)) return false;
    return ngx_set_environment(cycle, NULL) != NULL;
}

/* An event loop without listening sockets. `begin` runs the files, and then ends the process. */
static void reload_child(ngx_cycle_t *cycle, ngx_int_t (*begin)(ngx_cycle_t *)) {
    ngx_pid = ngx_getpid();
    ngx_process = NGX_PROCESS_WORKER;
    ngx_cycle = cycle;
    cycle->listening.nelts = 0;
    reload_reset_signals();
    if (!reload_limit_time() || !reload_become_worker(cycle)) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, ngx_errno,
                "godwit: no process like a worker for the app files");
        _exit(1);
    }
    ngx_setproctitle("godwit check");
    if (ngx_event_core_module.init_process(cycle) != NGX_OK || begin(cycle) != NGX_OK) _exit(1);
    ngx_use_accept_mutex = 0; /* the workers share it */
    for (;;) ngx_process_events_and_timers(cycle);
}

bool gw_reload_check(ngx_cycle_t *cycle, ngx_int_t (*begin)(ngx_cycle_t *)) {
    int status = 0;
    pid_t child = fork();
    if (!child) reload_child(cycle, begin);
    int code = child > 0 && waitpid(child, &status, 0) == child ? 0 : ngx_errno;
    ngx_time_update();
    if (code) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, code,
                "godwit: no child to run the app files, so the old configuration stays");
        return false;
    }
    if (WIFSIGNALED(status)) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                "godwit: signal %d ended the run of app files%s, so the old configuration stays",
                WTERMSIG(status), WTERMSIG(status) == SIGKILL ? ", which have 10 s" : "");
    } else if (status) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, 0,
                "godwit: an app's file has failed, so the old configuration stays");
    }
    return !status;
}
