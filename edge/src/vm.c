/* The worker's VM. Every entry is protected: an error of mruby's C outside of Ruby code would end
 * the process. */
#include "edge.h"
#include <stdarg.h>

enum { VM_ARGUMENTS = 4, VM_UNCOLLECTED = 8 << 20 };

gw_vm_t gw_vm;
/* Debian's nginx logs a timer's ((ngx_connection_t *)event->data)->fd. */
static ngx_connection_t vm_no_connection = {.fd = (ngx_socket_t)-1};

void gw_vm_event(ngx_event_t *event, void (*handler)(ngx_event_t *)) {
    ngx_memzero(event, sizeof *event);
    event->handler = handler;
    event->data = &vm_no_connection;
    event->log = ngx_cycle->log;
}

ngx_log_t *gw_vm_log(void) {
    gw_request_t *request = gw_vm.current;
    return request && request->http ? request->http->connection->log : ngx_cycle->log;
}

void gw_vm_charge(size_t bytes) {
    static size_t sum;
    sum += bytes;
    if (sum < VM_UNCOLLECTED) return;
    sum = 0;
    mrb_full_gc(gw_vm.mrb);
}

mrb_value gw_vm_keep(mrb_value value) {
    mrb_gc_register(gw_vm.mrb, value);
    return mrb_obj_freeze(gw_vm.mrb, value);
}

mrb_value gw_vm_error(const char *class, const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return mrb_exc_new(gw_vm.mrb, mrb_class_get_under(gw_vm.mrb, gw_vm.edge, class), text,
            ngx_min(size, (int)sizeof text - 1));
}

/* The VM has made it beforehand. */
mrb_value gw_vm_no_memory(void) { return mrb_obj_value(gw_vm.mrb->nomem_err); }

static mrb_value vm_inspect(mrb_state *mrb, void *error) {
    return mrb_inspect(mrb, *(mrb_value *)error);
}

/* Our own Ruby rescues what an app raises, so this is a fault of ours, or no memory. */
static void vm_report(mrb_value error) {
    mrb_bool failed = FALSE;
    mrb_value text = mrb_protect_error(gw_vm.mrb, vm_inspect, &error, &failed);
    ngx_str_t said = ngx_string("an error that cannot be shown");
    if (!failed && mrb_string_p(text))
        said = (ngx_str_t){(size_t)RSTRING_LEN(text), (u_char *)RSTRING_PTR(text)};
    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "godwit: %V", &said);
}

bool gw_vm_protect(mrb_protect_error_func *body, void *data) {
    mrb_bool failed = FALSE;
    int arena = mrb_gc_arena_save(gw_vm.mrb);
    mrb_value result = mrb_protect_error(gw_vm.mrb, body, data, &failed);
    if (failed) vm_report(result);
    mrb_gc_arena_restore(gw_vm.mrb, arena);
    return !failed;
}

typedef struct {
    gw_proc_t proc;
    gw_arguments_t *arguments;
    void *data;
} vm_entry_t;

static mrb_value vm_run(mrb_state *mrb, void *data) {
    vm_entry_t *entry = data;
    mrb_value arguments[VM_ARGUMENTS];
    int count = entry->arguments ? entry->arguments(mrb, entry->data, arguments) : 0;
    return mrb_yield_argv(mrb, gw_vm.procs[entry->proc], count, arguments);
}

bool gw_vm_enter(gw_request_t *request, gw_proc_t proc, gw_arguments_t *arguments, void *data) {
    vm_entry_t entry = {proc, arguments, data};
    gw_vm.current = request;
    if (gw_vm.watch) gw_vm.watch();
    gw_vm.inside = true;
    bool well = gw_vm_protect(vm_run, &entry);
    gw_vm.inside = false;
    bool left = gw_vm.current != request;
    gw_vm.current = NULL;
    if (gw_vm.socket_waits > 0 && proc != GW_LOOK_ALL) gw_post(&gw_vm.look_all);
    return well || left;
}
