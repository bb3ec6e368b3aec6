/* The one place that raises. The classes, their messages and hints are Ruby's (api/errors.yml,
 * lib/godwit/errors.rb). */
#include "gem.h"
#include <mruby/error.h>
#include <mruby/version.h>
#if MRUBY_RELEASE_NO >= 30300
#include <mruby/internal.h>
#endif

static mrb_value error_constant(mrb_state *mrb, const char *name) {
    struct RClass *godwit = mrb_module_get(mrb, "Godwit");
    return mrb_const_get(mrb, mrb_obj_value(godwit), mrb_intern_cstr(mrb, name));
}

static mrb_value error_symbol(mrb_state *mrb, const char *name) {
    return mrb_symbol_value(mrb_intern_cstr(mrb, name));
}

/* A socket knows its endpoints; other objects have none. */
static mrb_value error_endpoint_of(mrb_state *mrb, mrb_value self, mrb_value endpoint) {
    if (!mrb_nil_p(endpoint) || !mrb_respond_to(mrb, self, mrb_intern_lit(mrb, "endpoints")))
        return endpoint;
    mrb_value all = mrb_funcall(mrb, self, "endpoints", 0);
    if (RARRAY_LEN(all) == 0) return mrb_nil_value();
    return mrb_funcall(mrb, all, "join", 1, mrb_str_new_lit(mrb, ", "));
}

/* `what` is an errno, or a class for which libzmq has no errno. */
static mrb_noreturn void error_raise_with(
        mrb_state *mrb, mrb_value what, const char *operation, mrb_value self, mrb_value endpoint) {
    mrb_value name = error_symbol(mrb, operation);
    endpoint = error_endpoint_of(mrb, self, endpoint);
    mrb_value hint = mrb_funcall(
            mrb, error_constant(mrb, "ErrorHints"), "for", 4, what, name, self, endpoint);
    mrb_value errors = error_constant(mrb, "Errors");
    mrb_exc_raise(mrb, mrb_funcall(mrb, errors, "build", 4, what, name, endpoint, hint));
}

void gw_raise(
        mrb_state *mrb, int error, const char *operation, mrb_value self, mrb_value endpoint) {
    error_raise_with(mrb, mrb_fixnum_value(error), operation, self, endpoint);
}

void gw_raise_named(mrb_state *mrb, const char *class, const char *operation, mrb_value self) {
    error_raise_with(mrb, error_constant(mrb, class), operation, self, mrb_nil_value());
}

void gw_raise_message(mrb_state *mrb, mrb_value message, const char *operation, mrb_value self) {
    mrb_value hints = error_constant(mrb, "ErrorHints");
    mrb_exc_raise(mrb,
            mrb_funcall(mrb, hints, "bad_message", 3, message, error_symbol(mrb, operation), self));
}

void gw_raise_detail(mrb_state *mrb, const char *class, const char *operation, const char *detail) {
    mrb_value errors = error_constant(mrb, "Errors");
    mrb_exc_raise(mrb,
            mrb_funcall(mrb, errors, "build", 4, error_constant(mrb, class),
                    error_symbol(mrb, operation), mrb_nil_value(), mrb_str_new_cstr(mrb, detail)));
}

#if MRUBY_RELEASE_NO >= 30300
/* Error's initialize calls it instead of SystemCallError's, which puts "unknown error - " before
 * the message. mrb_print_error and inspect show what is set here. */
static mrb_value error_initialize(mrb_state *mrb, mrb_value self) {
    mrb_value text;
    if (mrb_get_args(mrb, "|S", &text) == 1) mrb_exc_mesg_set(mrb, mrb_exc_ptr(self), text);
    return self;
}
#endif

void gw_init_error(mrb_state *mrb, struct RClass *godwit, struct RClass *backend) {
#if MRUBY_RELEASE_NO >= 30300
    struct RClass *message = mrb_define_module_under(mrb, backend, "Message");
    mrb_define_method(mrb, message, "initialize", error_initialize, MRB_ARGS_OPT(1));
    mrb_include_module(mrb, mrb_define_module_under(mrb, godwit, "Error"), message);
#endif
}
