/* HUP: a child of the master runs the app files of the new configuration. If one fails, nginx goes
 * on with the old configuration. */
#include "edge.h"
#include <poll.h>
#include <sys/prctl.h>

enum { RELOAD_MILLISECONDS = 10000 };

/* The master's signals are blocked. Ctrl-C reaches the child too. */
static void reload_reset_signals(void) {
    static const int signals[] = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
    sigset_t none;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The user, the folder and the environment of a worker. The child ends with the master. */
static bool reload_become_worker(ngx_cycle_t *cycle) {
    ngx_core_conf_t *core = (ngx_core_conf_t *)ngx_get_conf(cycle->conf_ctx, ngx_core_module);
    char *folder = (char *)core->working_directory.data;
    if (!geteuid() && (setgid(core->group) || initgroups(core->username, core->group) ||
            setuid(core->user)))
        return false;
    if (folder && chdir(folder)) return false;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != ngx_parent) return false;
    return ngx_set_environment(cycle, NULL) != NULL;
}

/* An event loop without listening sockets. `begin` runs the files, and then ends the process. */
static void reload_child(ngx_cycle_t *cycle, ngx_int_t (*begin)(ngx_cycle_t *)) {
    ngx_parent = ngx_pid;
    ngx_pid = ngx_getpid();
    ngx_process = NGX_PROCESS_WORKER;
    ngx_cycle = cycle;
    cycle->listening.nelts = 0;
    reload_reset_signals();
    if (!reload_become_worker(cycle)) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, ngx_errno,
                "godwit: no process like a worker for the app files");
        _exit(1);
    }
    ngx_setproctitle("godwit check");
    if (ngx_event_core_module.init_process(cycle) != NGX_OK || begin(cycle) != NGX_OK) _exit(1);
    ngx_use_accept_mutex = 0; /* the workers share it */
    for (;;) ngx_process_events_and_timers(cycle);
}

/* The child's status. Signals are blocked, so nginx does not wait for the child elsewhere. */
static int reload_wait(pid_t child, int ends, bool *late) {
    struct pollfd end = {.fd = ends}; /* the other end closes with the child */
    int status;
    *late = poll(&end, 1, RELOAD_MILLISECONDS) != 1;
    if (*late) kill(child, SIGKILL);
    if (waitpid(child, &status, 0) != child) status = -1;
    ngx_time_update();
    return status;
}

bool gw_reload_check(ngx_cycle_t *cycle, ngx_int_t (*begin)(ngx_cycle_t *)) {
    int ends[2] = {-1, -1}, status = -1;
    bool late = false;
    const char *why = "no child can run the app files";
    pid_t child = pipe(ends) ? -1 : fork();
    if (!child) reload_child(cycle, begin);
    ngx_err_t code = child < 0 ? ngx_errno : 0;
    close(ends[1]);
    if (child > 0) {
        status = reload_wait(child, ends[0], &late);
        why = late                  ? "an app's file has not ended within 10 s"
              : WIFSIGNALED(status) ? "the process of the app files has crashed"
                                    : "an app's file has failed";
    }
    close(ends[0]);
    if (status) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, code,
                "godwit: %s, so the old configuration stays", why);
    }
    return !status;
}
