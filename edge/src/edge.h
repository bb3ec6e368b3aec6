/* The edge: one mruby VM in each nginx worker, a fiber for each request. All C runs in the worker's
 * only thread. Ruby is entered from events of the loop alone: what ends a wait posts an event. */
#ifndef GODWIT_EDGE_H
#define GODWIT_EDGE_H

#include <ngx_config.h>
#include <ngx_core.h>
#include <ngx_event.h>
#include <ngx_http.h>
#include <mruby.h>
#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/data.h>
#include <mruby/error.h>
#include <mruby/hash.h>
#include <mruby/numeric.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <stdbool.h>

/* nginx's macros have several statements, and evaluate their argument often. */
static inline void gw_post(ngx_event_t *event) { ngx_post_event(event, &ngx_posted_events); }
static inline void gw_unpost(ngx_event_t *event) {
    if (event->posted) {
        ngx_delete_posted_event(event);
    }
}

#define gw_of(event, type, field) ((type *)((char *)(event) - offsetof(type, field)))

typedef struct gw_request gw_request_t;
typedef struct gw_ticket gw_ticket_t;
typedef struct gw_stream gw_stream_t;

/* ---- vm.c: the one place that enters Ruby, and the one that raises ---- */

/* Procs of Ruby that C calls (edge/lib/entry.rb). */
typedef enum { GW_BOOT, GW_RUN, GW_RESUME, GW_LOOK, GW_LOOK_ALL, GW_PROCS } gw_proc_t;

typedef struct {
    mrb_state *mrb;        /* NULL: this worker has no app */
    mrb_value slots;       /* waiting fibers, and the values that they get: see wait.c */
    gw_request_t *current; /* whose fiber runs; NULL between two */
    struct RClass *edge;   /* the module Edge */
    mrb_value procs[GW_PROCS];
    /* Ruby may have consumed an edge of a socket's descriptor: all are looked at again while
     * fibers wait for sockets. */
    mrb_int socket_waits;
    ngx_event_t look_all;
    volatile sig_atomic_t inside; /* Ruby runs */
    void (*watch)(void);        /* of stall.c, called before Ruby runs; NULL: godwit_stall is off */
    bool full;                  /* it has reached godwit_memory, and its worker ends */
} gw_vm_t;
extern gw_vm_t gw_vm;

/* Fills in the arguments of a Proc. It may raise. */
typedef int gw_arguments_t(mrb_state *mrb, void *data, mrb_value *arguments);
/* False: an error has come out of it, and Ruby has not left the request (Edge._finish). */
bool gw_vm_enter(gw_request_t *request, gw_proc_t proc, gw_arguments_t *arguments, void *data);
/* Runs what may raise. False: it has raised, and that is logged. Frees its temporary objects. */
bool gw_vm_protect(mrb_protect_error_func *body, void *data);
mrb_value gw_vm_error(const char *class, const char *format, ...); /* of Edge, not raised */
mrb_value gw_vm_no_memory(void);
#define gw_vm_raise(...) mrb_exc_raise(gw_vm.mrb, gw_vm_error(__VA_ARGS__))
mrb_value gw_vm_keep(mrb_value value); /* registers it with the collector, and freezes it */
/* Before a String of so many bytes is made: mruby's collector counts objects alone. */
void gw_vm_charge(size_t bytes);
ngx_log_t *gw_vm_log(void);            /* of the request that runs, else of the worker */
void gw_vm_event(ngx_event_t *event, void (*handler)(ngx_event_t *)); /* initialises it */

/* ---- stall.c: which line runs; memory.c: the VM's allocator ---- */

bool gw_stall_own(const char *file); /* whose lines say nothing to an app */
/* "file:line" until the next call; NULL: no Ruby runs, or mruby was changing what has it. */
const char *gw_stall_place(mrb_state *mrb);
void gw_stall_start(ngx_msec_t limit); /* 0: off */
mrb_state *gw_memory_open(size_t limit, ngx_str_t text); /* 0: no limit */
void gw_memory_lift(void);

/* ---- wait.c: tickets. A ticket is a fiber that waits, and what ends its wait ---- */

gw_ticket_t *gw_wait_begin(mrb_state *mrb, ngx_msec_t milliseconds); /* raises: it cannot wait */
void gw_wait_check(mrb_state *mrb); /* raises what gw_wait_begin would */
/* The operation has ended: the fiber gets the value, unless its wait is over. */
void gw_wait_end(gw_ticket_t *ticket, mrb_value value);
/* An operation of C holds the ticket until gw_wait_end. When the time is over, `late` gives the
 * error for the fiber. */
void gw_wait_hold(gw_ticket_t *ticket, mrb_value (*late)(void *), void *data);
/* Waits of a kind count for $godwit_redis_time and $godwit_zmq_time. */
typedef enum { GW_WAIT_REDIS, GW_WAIT_ZMQ, GW_WAIT_KINDS } gw_wait_kind_t;
void gw_wait_count(gw_ticket_t *ticket, gw_wait_kind_t kind); /* after gw_wait_begin */
/* The sum over the request's waits, also those that go on. False: it had none. */
bool gw_wait_time(gw_request_t *request, gw_wait_kind_t kind, ngx_msec_t *spent);
void gw_wait_fail(gw_request_t *request, const char *class, const char *text); /* all its waits */
void gw_wait_orphan(gw_request_t *request); /* its waits go on without it */
/* A wait of the request until nginx has sent what its stream has. It ends them all. */
void gw_wait_write(mrb_state *mrb);
void gw_wait_written(gw_request_t *request, mrb_value value); /* it may raise */
void gw_wait_init(mrb_state *mrb);

/* ---- watch.c: descriptors that libraries own, on the loop ---- */

/* Calls the handler when it is readable; set the connection's data. NULL: nginx cannot watch it. */
ngx_connection_t *gw_watch_begin(int descriptor, ngx_event_handler_pt handler, ngx_uint_t flags);
void gw_watch_end(ngx_connection_t *connection);
void gw_watch_init(mrb_state *mrb);
void gw_watch_close_all(void);  /* before libzmq closes them */

/* ---- redis.c, json.c ---- */

void gw_redis_init(mrb_state *mrb);
void gw_json_init(mrb_state *mrb);

/* ---- app.c: app files, one for each location with godwit_app ---- */

typedef enum { GW_APP_STARTS, GW_APP_READY, GW_APP_FAILED } gw_app_state_t;

typedef struct {
    ngx_str_t path, script; /* the file; the location without its last slash */
    gw_app_state_t state;
    ngx_event_t again;      /* runs a file again that has raised */
    ngx_queue_t requests;   /* that wait until the file has run */
    mrb_value script_name;
    unsigned said;          /* gw_app_fact_t that the log has */
} gw_app_t;

typedef enum { GW_APP_DROPS = 1, GW_APP_MISCOUNTS = 2 } gw_app_fact_t;

void gw_app_set(ngx_array_t *apps); /* gw_app_t, in a worker */
ngx_uint_t gw_app_count(void);
gw_app_t *gw_app_at(ngx_uint_t app);
void gw_app_log_once(ngx_uint_t app, gw_app_fact_t fact, const char *text);
void gw_app_init(mrb_state *mrb);

/* ---- env.c, request.c, response.c, stream.c ---- */

struct gw_request {
    ngx_http_request_t *http; /* NULL: it has an answer, or its client has left; or an app's file */
    ngx_queue_t waits;        /* tickets */
    ngx_queue_t link;         /* of gw_app_t.requests */
    ngx_queue_t fetches;      /* subrequests without an answer */
    ngx_event_t start, timer;
    ngx_msec_t timeout;
    ngx_uint_t app;           /* index */
    ngx_str_t id;             /* nginx's $request_id, in id_text */
    u_char id_text[32];
    gw_stream_t *stream;      /* owned; NULL: its answer is none, or has not begun */
    ngx_msec_t waited[GW_WAIT_KINDS];
    bool waits_for[GW_WAIT_KINDS];
    const char *failed, *why; /* the class and text of an error for the next wait; NULL: none */
    bool runs, gone;          /* Ruby has it; nginx no longer has it. With neither it is freed */
};

void gw_env_init(mrb_state *mrb);
void gw_env_set_index(ngx_int_t request_id); /* of nginx's variable $request_id */
mrb_value gw_env_make(mrb_state *mrb, gw_request_t *request);
void gw_env_share_id(const ngx_http_request_t *http, ngx_http_request_t *subrequest);

extern ngx_module_t ngx_http_godwit_module;
ngx_int_t gw_request_handle(ngx_http_request_t *http, ngx_uint_t app, ngx_msec_t timeout);
gw_request_t *gw_request_make(ngx_http_request_t *http, ngx_uint_t app); /* NULL: no memory */
void gw_request_start(gw_request_t *request); /* its app's file has run, or has failed */
void gw_request_init(mrb_state *mrb);

/* Ends the request with {"error": word}, and with the offset unless it is below 0. */
void gw_response_fail(gw_request_t *request, ngx_uint_t status, const char *word, mrb_int offset);
/* Sets an app's status and headers. The result is its Content-Length. Raises ResponseError. */
enum { GW_NO_LENGTH = -1, GW_BAD_LENGTH = -2 };
off_t gw_response_head(mrb_state *mrb, mrb_value status, mrb_value headers);
void gw_response_end(gw_request_t *request, ngx_int_t code); /* leaves the request to nginx */
const char *gw_response_check_header(mrb_value name, mrb_value value); /* NULL: it is one */
void gw_response_init(mrb_state *mrb);

void gw_stream_gone(gw_stream_t *stream); /* nginx frees the request */
void gw_stream_init(mrb_state *mrb);

/* ---- fetch.c, variables.c ---- */

void gw_fetch_abort(gw_request_t *request); /* no fiber waits for them */
void gw_fetch_configure(void);              /* after other modules */
void gw_fetch_init(mrb_state *mrb);
ngx_int_t gw_variables_add(ngx_conf_t *cf); /* before nginx reads directives */

/* ---- boot.c: parses app files in the master, and runs them in each worker ---- */

const char *gw_boot_parse(ngx_conf_t *cf, const char *path); /* NULL, or the error */
/* `check`: ends the process when all files have run, with status 1 if one raised. */
void gw_boot_start(bool check);
void gw_boot_init(mrb_state *mrb);

/* ---- reload.c ---- */

/* In the master: whether the app files of a new cycle run well in a child. There `begin` starts
 * them; when they have run it ends the process, with status 0 or 1. */
bool gw_reload_check(ngx_cycle_t *cycle, ngx_int_t (*begin)(ngx_cycle_t *));

#endif
