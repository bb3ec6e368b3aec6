/* Tickets: each is a fiber that waits, and what ends the wait. The end of a wait is a posted event,
 * so an operation may end it anywhere, and Ruby runs in the order of the ends. */
#include "edge.h"
#include <mruby/proc.h>

struct gw_ticket {
    ngx_event_t timer, wake;
    ngx_queue_t link;      /* of its request's waits, or of wait_others */
    gw_request_t *request; /* whose fiber waits; NULL: the fiber of an app's file */
    mrb_value (*late)(void *); /* of an operation of C, with its data */
    void *data;
    mrb_int number;
    gw_wait_kind_t kind; /* GW_WAIT_KINDS: none */
    ngx_msec_t began;
    enum { WAIT_OPEN, WAIT_WOKEN, WAIT_RESUMES, WAIT_OVER } state;
    bool held;   /* an operation of C will end it */
    bool sleeps; /* the end of its time is no error */
    bool writes; /* gw_wait_written ends it */
};

/* gw_vm.slots keeps the fiber at 2 * slot and its value behind it: mrb_gc_unregister would search a
 * list. Ruby has a ticket's number, which contains how many waits the slot has had. */
enum { WAIT_BITS = 16, WAIT_MOST = 1 << WAIT_BITS };

static gw_ticket_t **wait_tickets; /* by slot: each has one, for one wait after the other */
static mrb_int wait_slots;
static ngx_queue_t wait_unused, wait_others; /* tickets without a wait; waits without a request */
static struct RClass *wait_task;             /* of fibers that may wait */

static mrb_int wait_slot(const gw_ticket_t *ticket) { return ticket->number & (WAIT_MOST - 1); }

/* The method, or the caller of the block, that C has called: a block has its method's name. */
static const char *wait_caller(mrb_state *mrb, const mrb_callinfo *ci, bool *block) {
    *block = ci->proc && !MRB_PROC_SCOPE_P(ci->proc);
    if (*block && ci > mrb->c->cibase && (!ci[-1].proc || MRB_PROC_CFUNC_P(ci[-1].proc))) ci--;
    else if (*block) return "[]"; /* that of a Hash has no frame */
    return ci->mid ? mrb_sym_name(mrb, ci->mid) : "a method";
}

/* mruby refuses a Fiber.yield below a C function. */
static void wait_place(mrb_state *mrb) {
    struct mrb_context *c = mrb->c;
    if (c == mrb->root_c || !c->fib)
        gw_vm_raise("WaitError", "cannot wait here: only a request and an app's file may");
    if (c->fib->c != wait_task)
        gw_vm_raise("WaitError", "cannot wait in a fiber of the app's own: use Edge.join");
    for (const mrb_callinfo *ci = c->ci; ci >= c->cibase; ci--) {
        if (ci->cci == 0) continue;
        bool block;
        const char *name = wait_caller(mrb, ci, &block);
        gw_vm_raise("WaitError",
                "cannot wait in %s%s, which a C function of mruby has called: wait before it, and "
                "use the value there",
                block ? "a block called by " : "", name);
    }
}

void gw_wait_check(mrb_state *mrb) {
    gw_request_t *request = gw_vm.current;
    wait_place(mrb);
    if (!request || !request->failed) return;
    const char *class = request->failed;
    request->failed = NULL;
    gw_vm_raise(class, "%s", request->why);
}

/* Doubles the table. */
static void wait_grow(mrb_state *mrb) {
    mrb_int size = wait_slots ? 2 * wait_slots : 64;
    if (size > WAIT_MOST) gw_vm_raise("BusyError", "%d fibers wait already", WAIT_MOST);
    wait_tickets = mrb_realloc(mrb, wait_tickets, (size_t)size * sizeof *wait_tickets);
    mrb_ary_set(mrb, gw_vm.slots, 2 * size - 1, mrb_nil_value());
    gw_ticket_t *ticket = mrb_calloc(mrb, (size_t)(size - wait_slots), sizeof *ticket);
    for (; wait_slots < size; wait_slots++, ticket++) {
        ticket->number = wait_slots;
        wait_tickets[wait_slots] = ticket;
        ngx_queue_insert_tail(&wait_unused, &ticket->link);
    }
}

static void wait_wake(gw_ticket_t *ticket, mrb_value value) {
    if (ticket->state != WAIT_OPEN) return;
    if (ticket->timer.timer_set && !ticket->held) ngx_del_timer(&ticket->timer);
    ticket->state = WAIT_WOKEN; /* the time of an operation of C goes on */
    mrb_ary_set(gw_vm.mrb, gw_vm.slots, 2 * wait_slot(ticket) + 1, value);
    gw_post(&ticket->wake);
}

static int wait_arguments(mrb_state *mrb, void *data, mrb_value *arguments) {
    mrb_int slot = wait_slot(data);
    for (int i = 0; i < 2; i++) {
        arguments[i] = mrb_ary_entry(gw_vm.slots, 2 * slot + i);
        mrb_gc_protect(mrb, arguments[i]);
        mrb_ary_set(mrb, gw_vm.slots, 2 * slot + i, mrb_nil_value());
    }
    return 2;
}

static void wait_resume(ngx_event_t *event) {
    gw_ticket_t *ticket = gw_of(event, gw_ticket_t, wake);
    ngx_queue_remove(&ticket->link);
    if (ticket->request && ticket->kind < GW_WAIT_KINDS)
        ticket->request->waited[ticket->kind] += ngx_current_msec - ticket->began;
    ticket->state = WAIT_RESUMES;
    gw_vm_enter(ticket->request, GW_RESUME, wait_arguments, ticket);
    ticket->state = WAIT_OVER;
    ticket->timer.cancelable = 1; /* a worker that ends does not wait for its operation */
    if (ticket->held) return;
    ngx_queue_insert_head(&wait_unused, &ticket->link);
}

static mrb_value wait_time_over(mrb_state *mrb, void *data) {
    gw_ticket_t *ticket = data;
    if (ticket->sleeps) wait_wake(ticket, mrb_nil_value());
    else if (ticket->held) wait_wake(ticket, ticket->late(ticket->data));
    else wait_wake(ticket, gw_vm_error("TimeoutError", "no answer in time"));
    return mrb_nil_value();
}

static void wait_timeout(ngx_event_t *event) {
    gw_ticket_t *ticket = gw_of(event, gw_ticket_t, timer);
    if (!gw_vm_protect(wait_time_over, ticket)) wait_wake(ticket, gw_vm_no_memory());
}

gw_ticket_t *gw_wait_begin(mrb_state *mrb, ngx_msec_t milliseconds) {
    gw_wait_check(mrb);
    if (ngx_queue_empty(&wait_unused)) wait_grow(mrb);
    gw_ticket_t *ticket = ngx_queue_data(ngx_queue_head(&wait_unused), gw_ticket_t, link);
    ngx_queue_remove(&ticket->link);
    mrb_int slot = wait_slot(ticket);
    gw_vm_event(&ticket->timer, wait_timeout);
    gw_vm_event(&ticket->wake, wait_resume);
    ticket->request = gw_vm.current;
    ticket->number += WAIT_MOST;
    ticket->state = WAIT_OPEN;
    ticket->held = ticket->sleeps = ticket->writes = false;
    ticket->kind = GW_WAIT_KINDS;
    mrb_ary_set(mrb, gw_vm.slots, 2 * slot, mrb_obj_value(mrb->c->fib));
    ngx_queue_insert_tail(ticket->request ? &ticket->request->waits : &wait_others, &ticket->link);
    if (milliseconds != NGX_TIMER_INFINITE) ngx_add_timer(&ticket->timer, milliseconds);
    return ticket;
}

void gw_wait_hold(gw_ticket_t *ticket, mrb_value (*late)(void *), void *data) {
    ticket->held = true;
    ticket->late = late;
    ticket->data = data;
}

void gw_wait_count(gw_ticket_t *ticket, gw_wait_kind_t kind) {
    ticket->kind = kind;
    ticket->began = ngx_current_msec;
    if (ticket->request) ticket->request->waits_for[kind] = true;
}

bool gw_wait_time(gw_request_t *request, gw_wait_kind_t kind, ngx_msec_t *spent) {
    ngx_queue_t *waits = &request->waits, *at;
    *spent = request->waited[kind];
    for (at = ngx_queue_head(waits); at != ngx_queue_sentinel(waits); at = ngx_queue_next(at)) {
        gw_ticket_t *ticket = ngx_queue_data(at, gw_ticket_t, link);
        if (ticket->kind == kind) *spent += ngx_current_msec - ticket->began;
    }
    return request->waits_for[kind];
}

void gw_wait_end(gw_ticket_t *ticket, mrb_value value) {
    ticket->held = false;
    if (ticket->timer.timer_set) ngx_del_timer(&ticket->timer);
    if (ticket->state != WAIT_OVER) {
        wait_wake(ticket, value);
        return;
    }
    ngx_queue_insert_head(&wait_unused, &ticket->link); /* the fiber has gone on without it */
}

static mrb_value wait_fail(mrb_state *mrb, void *data) {
    gw_request_t *request = data;
    ngx_queue_t *waits = &request->waits, *at;
    for (at = ngx_queue_head(waits); at != ngx_queue_sentinel(waits); at = ngx_queue_next(at)) {
        gw_ticket_t *ticket = ngx_queue_data(at, gw_ticket_t, link);
        if (ticket->state == WAIT_WOKEN) ticket->state = WAIT_OPEN; /* instead of its value */
        wait_wake(ticket, gw_vm_error(request->failed, "%s", request->why));
    }
    if (!ngx_queue_empty(waits)) request->failed = NULL; /* else the next wait raises it */
    return mrb_nil_value();
}

void gw_wait_fail(gw_request_t *request, const char *class, const char *text) {
    request->failed = class;
    request->why = text;
    gw_vm_protect(wait_fail, request);
}

void gw_wait_orphan(gw_request_t *request) {
    while (!ngx_queue_empty(&request->waits)) {
        gw_ticket_t *ticket = ngx_queue_data(ngx_queue_head(&request->waits), gw_ticket_t, link);
        ngx_queue_remove(&ticket->link);
        ngx_queue_insert_tail(&wait_others, &ticket->link);
        ticket->request = NULL;
    }
}

void gw_wait_write(mrb_state *mrb) { gw_wait_begin(mrb, NGX_TIMER_INFINITE)->writes = true; }

void gw_wait_written(gw_request_t *request, mrb_value value) {
    ngx_queue_t *waits = &request->waits, *at;
    for (at = ngx_queue_head(waits); at != ngx_queue_sentinel(waits); at = ngx_queue_next(at)) {
        gw_ticket_t *ticket = ngx_queue_data(at, gw_ticket_t, link);
        if (ticket->writes) wait_wake(ticket, value);
    }
}

/* ---- for Ruby ---- */

static gw_ticket_t *wait_begin(mrb_state *mrb) {
    mrb_int milliseconds;
    mrb_get_args(mrb, "i", &milliseconds);
    return gw_wait_begin(mrb, milliseconds < 0 ? NGX_TIMER_INFINITE : (ngx_msec_t)milliseconds);
}

/* Edge._ticket(milliseconds): -1 is for ever. The number is good until the fiber has gone on. */
static mrb_value wait_ticket(mrb_state *mrb, mrb_value self) {
    return mrb_fixnum_value(wait_begin(mrb)->number);
}

/* Edge._zmq_ticket(milliseconds): the same, for a reply of a ZeroMQ peer. */
static mrb_value wait_zmq_ticket(mrb_state *mrb, mrb_value self) {
    gw_ticket_t *ticket = wait_begin(mrb);
    gw_wait_count(ticket, GW_WAIT_ZMQ);
    return mrb_fixnum_value(ticket->number);
}

/* Edge._sleep(milliseconds): the same, but the fiber gets nil when the time is over. */
static mrb_value wait_sleep(mrb_state *mrb, mrb_value self) {
    gw_ticket_t *ticket = wait_begin(mrb);
    ticket->sleeps = true;
    return mrb_fixnum_value(ticket->number);
}

/* Edge._join: a wait for other fibers of the request. Only they end it. */
static mrb_value wait_join(mrb_state *mrb, mrb_value self) {
    gw_ticket_t *ticket = gw_wait_begin(mrb, NGX_TIMER_INFINITE);
    ngx_queue_remove(&ticket->link);
    ngx_queue_insert_tail(&wait_others, &ticket->link);
    return mrb_fixnum_value(ticket->number);
}

/* Edge._wake(number, value): whether the fiber gets the value. */
static mrb_value wait_wake_number(mrb_state *mrb, mrb_value self) {
    mrb_int number;
    mrb_value value;
    mrb_get_args(mrb, "io", &number, &value);
    mrb_int slot = number & (WAIT_MOST - 1);
    gw_ticket_t *ticket = slot < wait_slots ? wait_tickets[slot] : NULL;
    bool open = ticket && ticket->number == number && ticket->state == WAIT_OPEN;
    if (open) wait_wake(ticket, value);
    return mrb_bool_value(open);
}

void gw_wait_init(mrb_state *mrb) {
    ngx_queue_init(&wait_unused);
    ngx_queue_init(&wait_others);
    wait_task = mrb_define_class_under(mrb, gw_vm.edge, "Task", mrb_class_get(mrb, "Fiber"));
    mrb_define_class_method(mrb, gw_vm.edge, "_ticket", wait_ticket, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, gw_vm.edge, "_zmq_ticket", wait_zmq_ticket, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, gw_vm.edge, "_sleep", wait_sleep, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, gw_vm.edge, "_join", wait_join, MRB_ARGS_NONE());
    mrb_define_class_method(mrb, gw_vm.edge, "_wake", wait_wake_number, MRB_ARGS_REQ(2));
}
