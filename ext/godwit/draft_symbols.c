/* libzmq's draft functions (law 11), found at run time and never linked, so that one build of the
 * extension runs with any libzmq. Godwit uses them if zmq_has("draft") is true and libzmq exports
 * them. */
#include "process.h"
#include <dlfcn.h>

gw_draft_t gw_draft;

/* The platform gem calls the functions of its own libzmq, not those of another loaded libzmq. */
#ifdef GODWIT_STATIC_LIBZMQ
#define DRAFT_SYMBOLS_FIND(name) ((void *)(uintptr_t)name)
static void *draft_symbols_library(void) { return (void *)(uintptr_t)zmq_version; }
#else
#define DRAFT_SYMBOLS_FIND(name) dlsym(library, #name)
/* Returns the libzmq that this extension is linked with, which stays loaded; the process may have
 * loaded other ones. */
static void *draft_symbols_library(void) {
    Dl_info info;
    if (!dladdr((void *)(uintptr_t)zmq_version, &info) || !info.dli_fname) return NULL;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}
#endif

static void draft_symbols_find(void) {
    void *library = zmq_has("draft") ? draft_symbols_library() : NULL;
    if (!library) return;
    struct {
        void *function, *target;
        bool needed;
    } functions[] = {
            {DRAFT_SYMBOLS_FIND(zmq_join), &gw_draft.join, true},
            {DRAFT_SYMBOLS_FIND(zmq_leave), &gw_draft.leave, true},
            {DRAFT_SYMBOLS_FIND(zmq_msg_set_routing_id), &gw_draft.msg_set_routing_id, true},
            {DRAFT_SYMBOLS_FIND(zmq_msg_routing_id), &gw_draft.msg_routing_id, true},
            {DRAFT_SYMBOLS_FIND(zmq_msg_set_group), &gw_draft.msg_set_group, true},
            {DRAFT_SYMBOLS_FIND(zmq_msg_group), &gw_draft.msg_group, true},
            {DRAFT_SYMBOLS_FIND(zmq_poller_new), &gw_draft.poller_new, true},
            {DRAFT_SYMBOLS_FIND(zmq_poller_destroy), &gw_draft.poller_destroy, true},
            {DRAFT_SYMBOLS_FIND(zmq_poller_add), &gw_draft.poller_add, true},
            {DRAFT_SYMBOLS_FIND(zmq_poller_fd), &gw_draft.poller_fd, true},
            /* libzmq has this function since 4.3.3. */
            {DRAFT_SYMBOLS_FIND(zmq_connect_peer), &gw_draft.connect_peer, false},
            {DRAFT_SYMBOLS_FIND(zmq_ctx_set_ext), &gw_draft.ctx_set_ext, false},
            {DRAFT_SYMBOLS_FIND(zmq_socket_monitor_versioned), &gw_draft.socket_monitor_versioned,
                    false},
            {DRAFT_SYMBOLS_FIND(zmq_socket_monitor_pipes_stats),
                    &gw_draft.socket_monitor_pipes_stats, false},
    };
    gw_draft.available = true;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *function = functions[i].function;
        if (function) memcpy(functions[i].target, &function, sizeof function);
        else if (functions[i].needed) gw_draft.available = false;
    }
}

static VALUE draft_symbols_available_p(VALUE self) { return RBOOL(gw_draft.available); }

void gw_init_draft_symbols(VALUE native) {
    draft_symbols_find();
#ifdef GODWIT_STATIC_LIBZMQ
    rb_define_const(native, "STATIC_LIBZMQ", Qtrue);
#else
    rb_define_const(native, "STATIC_LIBZMQ", Qfalse);
#endif
    rb_define_module_function(native, "draft?", draft_symbols_available_p, 0);
}
