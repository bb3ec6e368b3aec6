/* godwit_memory: the VM's allocator with a limit. A worker whose VM has reached it is replaced. */
#include "edge.h"
#include <malloc.h>

/* Milliseconds: a worker that is younger goes on until then, so an app that needs more memory than
 * there is costs one worker a second. */
enum { MEMORY_YOUNG = 1000 };
/* Bytes. mruby's parser and Fiber.new crash when they get no memory, so small pieces are granted up
 * to twice the limit. Objects need pages of 40 KiB, and the collector runs safely there. */
enum { MEMORY_SMALL = 32 * 1024, MEMORY_RESERVE = 4 * 1024 * 1024 };

static size_t memory_used, memory_limit;
static ngx_str_t memory_text; /* the limit, as configured */
static bool memory_refused;   /* the request before this one */
static ngx_msec_t memory_began;
static ngx_event_t memory_end;

static void memory_quit(ngx_event_t *event) { ngx_quit = 1; }

/* The requests that are open have the reserve for their answers. */
static void memory_full(mrb_state *mrb) {
    ngx_msec_t age = ngx_current_msec - memory_began;
    if (gw_vm.full) return;
    gw_vm.full = true;
    memory_limit += ngx_max(memory_limit / 4, MEMORY_RESERVE);
    const char *place = gw_stall_place(mrb);
    ngx_log_error(NGX_LOG_ERR, gw_vm_log(), 0, "godwit: the VM has reached godwit_memory %V%s%s; "
            "this worker finishes its requests and is replaced", &memory_text,
            place ? " at " : "", place ? place : "");
    ngx_add_timer(&memory_end, age < MEMORY_YOUNG ? MEMORY_YOUNG - age : 0);
}

static bool memory_fits(size_t before, size_t size, size_t most) {
    return size <= before || (size <= most && memory_used - before <= most - size);
}

/* mruby collects after a refusal, and asks again. Then a sixteenth has to be free, since else it
 * would collect for each few bytes. */
static void *memory_allocate(mrb_state *mrb, void *old, size_t size, void *unused) {
    size_t before = malloc_usable_size(old);
    if (!size) {
        free(old);
        memory_used -= before;
        return NULL;
    }
    bool again = memory_refused;
    size_t most = memory_limit - (again ? memory_limit / 16 : 0);
    if (size < MEMORY_SMALL) most *= 2;
    void *made = memory_fits(before, size, most) ? realloc(old, size) : NULL;
    memory_refused = !made && !again;
    if (made) memory_used += malloc_usable_size(made) - before;
    else if (again) memory_full(mrb);
    return made;
}

mrb_state *gw_memory_open(size_t limit, ngx_str_t text) {
    if (!limit) return mrb_open();
    memory_limit = limit;
    memory_text = text;
    memory_began = ngx_current_msec;
    gw_vm_event(&memory_end, memory_quit);
    return mrb_open_allocf(memory_allocate, NULL);
}

void gw_memory_lift(void) { memory_limit = SIZE_MAX / 4; }
