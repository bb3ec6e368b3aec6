/* Godwit::Context: the Ruby object over a native context (native_context.c). Any Ractor may call
 * these functions, so their shared data is atomic; each function needs the GVL of its Ractor. */
#include "socket.h"

typedef struct {
    gw_context_t *native; /* retained; NULL before _open */
    atomic_bool closed;   /* atomic, since several Ractors may close the context */
} context_t;

static bool context_forked(const context_t *context) {
    return context->native && gw_forked(context->native->generation);
}

static void context_free(void *pointer) {
    context_t *context = pointer;
    if (context->native && !context_forked(context)) {
        if (!context->closed) gw_context_close(context->native, NULL);
        gw_context_release(context->native);
    }
    xfree(context);
}

static size_t context_size(const void *pointer) {
    const context_t *context = pointer;
    return sizeof *context + (context->native ? sizeof *context->native : 0);
}

static const rb_data_type_t context_type = {
        .wrap_struct_name = "Godwit::Context",
        /* The type needs no dmark function, since context_t has no VALUE. */
        .function = {.dfree = context_free, .dsize = context_size},
        .flags =
                RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE,
};

static VALUE context_alloc(VALUE class) {
    context_t *context;
    return TypedData_Make_Struct(class, context_t, &context_type, context);
}

static context_t *context_of(VALUE self) { return rb_check_typeddata(self, &context_type); }

gw_context_t *gw_context_open(VALUE self, const char *operation) {
    context_t *context = context_of(self);
    if (context_forked(context)) gw_raise_forked(operation, self);
    if (!context->native || context->closed) gw_raise_closed(operation, self);
    return context->native;
}

static VALUE context_open(VALUE self) {
    context_t *context = context_of(self);
    if (context->native) rb_raise(rb_eRuntimeError, "this context is open already");
    context->native = gw_context_create();
    if (!context->native && (errno == EMFILE || errno == ENFILE)) {
        rb_gc(); /* unreachable objects may still own descriptors */
        context->native = gw_context_create();
    }
    if (!context->native) gw_raise(errno, "new", self, Qnil);
    return self;
}

static VALUE context_get(VALUE self, VALUE id) {
    gw_context_t *native = gw_context_open(self, "get");
    if (NUM2INT(id) == ZMQ_MAX_SOCKETS) return INT2NUM(atomic_load(&native->max_sockets));
    errno = 0; /* an option may have the value -1, so only errno shows an error */
    int value = zmq_ctx_get(native->zmq, NUM2INT(id));
    if (value < 0 && errno) gw_raise(errno, "get", self, Qnil);
    return INT2NUM(value);
}

static VALUE context_set(VALUE self, VALUE id, VALUE value) {
    gw_context_t *native = gw_context_open(self, "set");
    int rc;
    if (RB_TYPE_P(value, T_STRING)) {
        errno = EINVAL;
        rc = gw_draft.ctx_set_ext ? gw_draft.ctx_set_ext(native->zmq, NUM2INT(id),
                                            RSTRING_PTR(value), RSTRING_LEN(value))
                                  : -1;
    } else if (NUM2INT(id) == ZMQ_MAX_SOCKETS) {
        rc = gw_context_set_max_sockets(native, NUM2INT(value));
    } else {
        rc = zmq_ctx_set(native->zmq, NUM2INT(id), NUM2INT(value));
        if (rc == 0) gw_threads_record(&native->threads, NUM2INT(id), NUM2INT(value));
    }
    if (rc != 0) gw_raise(errno, "set", self, Qnil);
    return Qnil;
}

static VALUE context_linger(VALUE self) {
    return INT2NUM(atomic_load(&gw_context_open(self, "linger")->linger));
}

/* _set_linger(ms, optional: ms that exit waits for a socket whose linger has no limit) */
static VALUE context_set_linger(int argc, VALUE *argv, VALUE self) {
    VALUE milliseconds, at_exit;
    gw_context_t *native = gw_context_open(self, "linger=");
    rb_scan_args(argc, argv, "11", &milliseconds, &at_exit);
    atomic_store(&native->linger, NUM2INT(milliseconds));
    if (!NIL_P(at_exit)) atomic_store(&native->exit_linger, NUM2INT(at_exit));
    return milliseconds;
}

static VALUE context_shutdown(VALUE self) {
    context_t *context = context_of(self);
    if (context->native && context->closed && !context_forked(context)) return Qnil;
    zmq_ctx_shutdown(gw_context_open(self, "shutdown")->zmq);
    return Qnil;
}

/* Closes this Ractor's sockets. If other Ractors have sockets, zmq_ctx_shutdown ends their waits
 * and makes their next calls fail, so that they close their sockets. */
static void context_close_sockets(gw_context_t *native) {
    const uint64_t mine = gw_ractor();
    bool others = false;
    for (;;) {
        gw_socket_t *socket = NULL;
        gw_spin_lock(&native->lock);
        gw_link_t *link = native->sockets;
        for (others = false; link; link = link->next) {
            socket = (gw_socket_t *)link;
            if (socket->ractor != mine) others = true;
            else if (socket->state == GW_OPEN || socket->state == GW_IN_PROXY) break;
        }
        gw_spin_unlock(&native->lock);
        if (!link) break;
        gw_socket_close(socket);
    }
    if (others) zmq_ctx_shutdown(native->zmq);
}

/* Closes the sockets, then waits at most linger + 1 s for the reaper, the thread that terminates
 * the context. The reaper continues if an interrupt ends this wait. */
static VALUE context_close(VALUE self) {
    context_t *context = context_of(self);
    gw_context_t *native = context->native;
    if (!native) return Qnil;
    if (context_forked(context)) gw_raise_forked("close", self);
    if (!atomic_exchange(&context->closed, true)) {
        context_close_sockets(native);
        gw_context_close(native, NULL);
    }
    /* In a trap handler close does not wait: the handler interrupted a wait that must end first. */
    if (gw_wait_interrupted()) return Qnil;
    int longest = atomic_load(&native->longest_linger);
    gw_wait_fd(self, "close", native->done_fd,
            gw_deadline(longest == GW_FOREVER ? GW_FOREVER : (int64_t)longest + GW_CLOSE_GRACE));
    return Qnil;
}

static VALUE context_closed_p(VALUE self) {
    context_t *context = context_of(self);
    return RBOOL(!context->native || context->closed);
}

static VALUE context_own_p(VALUE self) { return RBOOL(!context_forked(context_of(self))); }

/* The default context, shared by all Ractors. A compare-and-swap replaces it without a lock, since
 * a trap handler cannot lock a Mutex. */
static _Atomic(VALUE) default_context = Qnil;

static bool context_usable(VALUE self) {
    return !NIL_P(self) && !RTEST(context_closed_p(self)) && RTEST(context_own_p(self));
}

static VALUE context_default(VALUE class) {
    VALUE known = atomic_load(&default_context);
    return context_usable(known) ? known : Qnil;
}

/* _propose(candidate) => the default context: an open one, or else the candidate from now on */
static VALUE context_propose(VALUE class, VALUE candidate) {
    VALUE known = atomic_load(&default_context);
    context_of(candidate);
    do {
        if (context_usable(known)) return known;
    } while (!atomic_compare_exchange_weak(&default_context, &known, candidate));
    return candidate;
}

static VALUE context_pointer(VALUE self) {
    return ULL2NUM((uintptr_t)gw_context_open(self, "pointer")->zmq);
}

void gw_init_context(void) {
    VALUE class = rb_define_class_under(gw_mGodwit, "Context", rb_cObject);
    rb_define_alloc_func(class, context_alloc);
    rb_gc_register_address((VALUE *)&default_context);
    rb_define_private_method(rb_singleton_class(class), "_default", context_default, 0);
    rb_define_private_method(rb_singleton_class(class), "_propose", context_propose, 1);
    rb_define_private_method(class, "_open", context_open, 0);
    rb_define_private_method(class, "_get_option", context_get, 1);
    rb_define_private_method(class, "_set_option", context_set, 2);
    rb_define_private_method(class, "_linger", context_linger, 0);
    rb_define_private_method(class, "_set_linger", context_set_linger, -1);
    rb_define_private_method(class, "_shutdown", context_shutdown, 0);
    rb_define_private_method(class, "_close", context_close, 0);
    rb_define_private_method(class, "_closed?", context_closed_p, 0);
    rb_define_private_method(class, "_own?", context_own_p, 0);
    rb_define_private_method(class, "_pointer", context_pointer, 0);
}
