/* Godwit::Context: the VM's object over a native context (process.c). VMs on other threads may use
 * the default context at the same time; what they share is atomic. */
#include "gem.h"
#include <mruby/gc.h>
#include <poll.h>
#include <stdlib.h>

typedef struct {
    gw_context_t *native; /* retained */
    bool closed;
} context_t;

static bool context_forked(const context_t *context) {
    return gw_forked(context->native->generation);
}

static void context_finish(mrb_state *mrb, context_t *context) {
    if (context->closed || context_forked(context)) return;
    context->closed = true;
    gw_context_close(context->native, mrb);
}

/* The collector calls it: it neither waits nor terminates; the reaper does. */
static void context_free(mrb_state *mrb, void *pointer) {
    context_t *context = pointer;
    if (!context) return;
    context_finish(mrb, context);
    if (!context_forked(context)) gw_context_release(context->native);
    free(context);
}

static const mrb_data_type context_type = {"Godwit::Context", context_free};

static context_t *context_of(mrb_state *mrb, mrb_value self) {
    return mrb_data_check_get_ptr(mrb, self, &context_type);
}

gw_context_t *gw_context_open(mrb_state *mrb, mrb_value self, const char *operation) {
    context_t *context = context_of(mrb, self);
    if (context && context_forked(context)) gw_raise_named(mrb, "ForkedError", operation, self);
    if (!context || context->closed) gw_raise_named(mrb, "ClosedError", operation, self);
    return context->native;
}

static mrb_value context_open(mrb_state *mrb, mrb_value self) {
    if (context_of(mrb, self)) gw_raise_named(mrb, "StateError", "new", self);
    context_t *context = calloc(1, sizeof *context);
    if (!context) gw_raise(mrb, ENOMEM, "new", self, mrb_nil_value());
    context->native = gw_context_create();
    if (!context->native && (errno == EMFILE || errno == ENFILE)) {
        mrb_full_gc(mrb); /* dropped objects may have descriptors */
        context->native = gw_context_create();
    }
    if (!context->native) {
        int error = errno;
        free(context);
        gw_raise(mrb, error, "new", self, mrb_nil_value());
    }
    mrb_data_init(self, context, &context_type);
    return self;
}

/* The default context of the process. The slot retains it, but does not count as an open user. */
static gw_context_t *default_context;
static atomic_flag default_lock = ATOMIC_FLAG_INIT;

static void context_forget_default(void) {
    default_context = NULL;
    atomic_flag_clear(&default_lock);
}

/* False: it was closed for the last time. */
static bool context_join(gw_context_t *native) {
    int opens = atomic_load(&native->opens);
    while (opens > 0) {
        if (atomic_compare_exchange_weak(&native->opens, &opens, opens + 1)) return true;
    }
    return false;
}

/* _adopt: the object becomes one for the process's default context. Without one, its own native
 * context becomes that. */
static mrb_value context_adopt(mrb_state *mrb, mrb_value self) {
    gw_context_t *mine = gw_context_open(mrb, self, "new"), *before;
    gw_spin_lock(&default_lock);
    before = default_context;
    bool joined = before && before != mine && context_join(before);
    if (joined) {
        gw_context_retain(before);
        context_of(mrb, self)->native = before;
    } else if (before != mine) {
        gw_context_retain(mine);
        default_context = mine;
    }
    gw_spin_unlock(&default_lock);
    if (joined) {
        gw_context_close(mine, mrb);
        gw_context_release(mine);
    } else if (before && before != mine) {
        gw_context_release(before);
    }
    return self;
}

static mrb_value context_get(mrb_state *mrb, mrb_value self) {
    gw_context_t *native = gw_context_open(mrb, self, "get");
    mrb_int id;
    mrb_get_args(mrb, "i", &id);
    if (id == ZMQ_MAX_SOCKETS) return mrb_fixnum_value(atomic_load(&native->max_sockets));
    errno = 0; /* -1 is a value too */
    int value = zmq_ctx_get(native->zmq, id);
    if (value < 0 && errno) gw_raise(mrb, errno, "get", self, mrb_nil_value());
    return mrb_fixnum_value(value);
}

static mrb_value context_set(mrb_state *mrb, mrb_value self) {
    gw_context_t *native = gw_context_open(mrb, self, "set");
    mrb_int id, value;
    int error = 0;
    mrb_get_args(mrb, "ii", &id, &value);
    if (id == ZMQ_MAX_SOCKETS) {
        error = gw_context_set_max_sockets(native, value);
    } else {
        if (zmq_ctx_set(native->zmq, id, value) != 0) error = errno;
        else gw_threads_record(&native->threads, id, value);
    }
    if (error) gw_raise(mrb, error, "set", self, mrb_nil_value());
    return mrb_nil_value();
}

static mrb_value context_linger(mrb_state *mrb, mrb_value self) {
    return mrb_fixnum_value(atomic_load(&gw_context_open(mrb, self, "linger")->linger));
}

/* _set_linger(ms, ms that exit waits for a socket without limit; not given: unchanged) */
static mrb_value context_set_linger(mrb_state *mrb, mrb_value self) {
    gw_context_t *native = gw_context_open(mrb, self, "linger=");
    mrb_int milliseconds, at_exit;
    if (mrb_get_args(mrb, "i|i", &milliseconds, &at_exit) > 1)
        atomic_store(&native->exit_linger, at_exit);
    atomic_store(&native->linger, milliseconds);
    return mrb_fixnum_value(milliseconds);
}

static mrb_value context_shutdown(mrb_state *mrb, mrb_value self) {
    context_t *context = context_of(mrb, self);
    if (context && context->closed && !context_forked(context)) return mrb_nil_value();
    zmq_ctx_shutdown(gw_context_open(mrb, self, "shutdown")->zmq);
    return mrb_nil_value();
}

/* Closes the sockets that this VM has in it. */
static void context_close_sockets(mrb_state *mrb, gw_context_t *native) {
    gw_link_t *link;
    do {
        gw_spin_lock(&native->lock);
        for (link = native->sockets; link && ((gw_socket_t *)link)->vm != mrb;) link = link->next;
        gw_spin_unlock(&native->lock);
        if (link) gw_socket_release((gw_socket_t *)link);
    } while (link);
}

/* Waits for the reaper for at most linger + 1 s; not while another VM has the context open. */
static void context_await(gw_context_t *native) {
    int longest = atomic_load(&native->longest_linger);
    int64_t start = gw_milliseconds_exact(), remaining = -1;
    struct pollfd done = {.fd = native->done_fd, .events = POLLIN};
    if (atomic_load(&native->opens) > 0) return;
    do {
        if (longest != GW_FOREVER) {
            remaining = start + longest + GW_CLOSE_GRACE - gw_milliseconds_exact();
            if (remaining <= 0) return;
        }
    } while (poll(&done, 1, remaining > INT32_MAX ? INT32_MAX : (int)remaining) <= 0);
}

static mrb_value context_close(mrb_state *mrb, mrb_value self) {
    context_t *context = context_of(mrb, self);
    if (!context) return mrb_nil_value();
    if (context_forked(context)) gw_raise_named(mrb, "ForkedError", "close", self);
    if (context->closed) return mrb_nil_value();
    context_close_sockets(mrb, context->native);
    context_finish(mrb, context);
    context_await(context->native);
    return mrb_nil_value();
}

static mrb_value context_closed_p(mrb_state *mrb, mrb_value self) {
    context_t *context = context_of(mrb, self);
    return mrb_bool_value(!context || context->closed);
}

/* _own? => whether the context belongs to this process */
static mrb_value context_own_p(mrb_state *mrb, mrb_value self) {
    context_t *context = context_of(mrb, self);
    return mrb_bool_value(!context || !context_forked(context));
}

static mrb_value context_pointer(mrb_state *mrb, mrb_value self) {
    return mrb_fixnum_value((intptr_t)gw_context_open(mrb, self, "pointer")->zmq);
}

static int context_close_object(mrb_state *mrb, struct RBasic *object, void *unused) {
    struct RData *data = (struct RData *)object;
    if (object->tt == MRB_TT_DATA && data->type == &context_type) context_finish(mrb, data->data);
    return MRB_EACH_OBJ_OK;
}

void gw_close_contexts(mrb_state *mrb) {
    mrb_objspace_each_objects(mrb, context_close_object, NULL);
}

void gw_init_context(mrb_state *mrb, struct RClass *godwit) {
    static atomic_flag registered = ATOMIC_FLAG_INIT;
    if (!atomic_flag_test_and_set(&registered)) gw_after_fork(context_forget_default);
    struct RClass *class = mrb_define_class_under(mrb, godwit, "Context", mrb->object_class);
    MRB_SET_INSTANCE_TT(class, MRB_TT_DATA);
    mrb_define_method(mrb, class, "_open", context_open, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_adopt", context_adopt, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_get_option", context_get, MRB_ARGS_REQ(1));
    mrb_define_method(mrb, class, "_set_option", context_set, MRB_ARGS_REQ(2));
    mrb_define_method(mrb, class, "_linger", context_linger, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_set_linger", context_set_linger, MRB_ARGS_ARG(1, 1));
    mrb_define_method(mrb, class, "_shutdown", context_shutdown, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_close_now", context_close, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_closed?", context_closed_p, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_own?", context_own_p, MRB_ARGS_NONE());
    mrb_define_method(mrb, class, "_pointer", context_pointer, MRB_ARGS_NONE());
}
