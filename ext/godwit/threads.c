/* The scheduling of a context's threads. libzmq aborts the process when the system refuses a
 * policy, a priority or a CPU, so a thread of Godwit's tries the values first, in the order of
 * libzmq's thread.cpp. Needs no lock. */
#include "core.h"
#include <pthread.h>

typedef struct {
    const gw_threads_t *threads;
    const char *fix;
    int error;
} trial_t;

void gw_threads_init(gw_threads_t *threads) {
    threads->policy = threads->priority = ZMQ_THREAD_SCHED_POLICY_DFLT;
    CPU_ZERO(&threads->cpus);
}

/* Records a value that zmq_ctx_set has accepted. */
void gw_threads_record(gw_threads_t *threads, int option, int value) {
    if (option == ZMQ_THREAD_SCHED_POLICY) threads->policy = value;
    if (option == ZMQ_THREAD_PRIORITY) threads->priority = value;
    if (option == ZMQ_THREAD_AFFINITY_CPU_ADD) CPU_SET(value, &threads->cpus);
    if (option == ZMQ_THREAD_AFFINITY_CPU_REMOVE) CPU_CLR(value, &threads->cpus);
}

static int threads_schedule(const gw_threads_t *threads) {
    struct sched_param param;
    int policy, error = pthread_getschedparam(pthread_self(), &policy, &param);
    if (error) return error;
    if (threads->policy >= 0) policy = threads->policy;
    if (policy != SCHED_FIFO && policy != SCHED_RR) param.sched_priority = 0;
    else if (threads->priority >= 0) param.sched_priority = threads->priority;
    return pthread_setschedparam(pthread_self(), policy, &param);
}

static int threads_raise_priority(const gw_threads_t *threads) {
    if (threads->policy == SCHED_FIFO || threads->policy == SCHED_RR || threads->priority <= 0)
        return 0;
    errno = 0;
    return nice(-20) == -1 && errno ? errno : 0; /* on Linux nice changes only this thread */
}

static void *threads_try(void *argument) {
    trial_t *trial = argument;
    const gw_threads_t *threads = trial->threads;
    trial->fix = "thread_sched_policy: 1 (SCHED_FIFO) and 2 (SCHED_RR) need thread_priority: 1 to "
                 "99 and the privilege CAP_SYS_NICE; 0 needs neither";
    if ((trial->error = threads_schedule(threads)) != 0) return NULL;
    trial->fix = "thread_priority: needs the privilege CAP_SYS_NICE; leave it out";
    if ((trial->error = threads_raise_priority(threads)) != 0) return NULL;
    trial->fix = "thread_affinity_add: names no CPU of this machine; take 0 to one less than what "
                 "nproc prints";
    if (CPU_COUNT(&threads->cpus) > 0)
        trial->error = pthread_setaffinity_np(pthread_self(), sizeof threads->cpus, &threads->cpus);
    return NULL;
}

const char *gw_threads_fix(const gw_threads_t *threads) {
    bool plain = threads->policy < 0 && threads->priority <= 0 && CPU_COUNT(&threads->cpus) == 0;
    trial_t trial = {.threads = threads};
    pthread_t thread;
    if (plain || pthread_create(&thread, NULL, threads_try, &trial) != 0) return NULL;
    pthread_join(thread, NULL);
    return trial.error ? trial.fix : NULL;
}
