/* The only file that raises (law 8). Ruby code defines the error classes, their messages and hints
 * (api/errors.yml, lib/godwit/errors.rb). Every function needs the GVL. */
#include "process.h"

VALUE gw_mGodwit;

static VALUE errors, hints; /* Godwit::Errors, Godwit::ErrorHints */
static ID id_build, id_endpoints, id_join, id_for;

/* Returns the given endpoint, or else the endpoints of a socket; nil for other objects. */
static VALUE error_endpoint_of(VALUE self, VALUE endpoint) {
    if (!NIL_P(endpoint) || !rb_respond_to(self, id_endpoints)) return endpoint;
    VALUE all = rb_funcall(self, id_endpoints, 0);
    return RARRAY_LEN(all) ? rb_funcall(all, id_join, 1, rb_str_new_cstr(", ")) : Qnil;
}

static VALUE error_constant(const char *name) { return rb_const_get(gw_mGodwit, rb_intern(name)); }

/* `what` is an errno, or the class of an error for which libzmq has no errno. */
NORETURN(static void error_raise_with(
        VALUE what, const char *operation, VALUE self, VALUE endpoint)) {
    VALUE name = ID2SYM(rb_intern(operation));
    endpoint = error_endpoint_of(self, endpoint);
    VALUE hint = rb_funcall(hints, id_for, 4, what, name, self, endpoint);
    rb_exc_raise(rb_funcall(errors, id_build, 4, what, name, endpoint, hint));
}

void gw_raise(int error, const char *operation, VALUE self, VALUE endpoint) {
    error_raise_with(INT2NUM(error), operation, self, endpoint);
}

void gw_raise_named(const char *name, const char *operation, VALUE self) {
    error_raise_with(error_constant(name), operation, self, Qnil);
}

void gw_raise_message(VALUE message, const char *operation, VALUE self) {
    rb_exc_raise(rb_funcall(
            hints, rb_intern("bad_message"), 3, message, ID2SYM(rb_intern(operation)), self));
}

void gw_raise_arguments(int argc, const VALUE *argv, const char *operation) {
    VALUE given = rb_ary_new_from_values(argc - rb_keyword_given_p(), argv);
    rb_exc_raise(rb_funcall(hints, rb_intern("too_many"), 2, ID2SYM(rb_intern(operation)), given));
}

void gw_raise_detail(const char *name, const char *operation, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    VALUE detail = rb_enc_vsprintf(rb_utf8_encoding(), format, arguments);
    va_end(arguments);
    rb_exc_raise(rb_funcall(
            errors, id_build, 4, error_constant(name), ID2SYM(rb_intern(operation)), Qnil, detail));
}

int64_t gw_milliseconds(VALUE timeout, int64_t otherwise) {
    return NIL_P(timeout) ? otherwise : NUM2LL(timeout);
}

void gw_init_error(void) {
    rb_gc_register_mark_object(errors = error_constant("Errors"));
    rb_gc_register_mark_object(hints = error_constant("ErrorHints"));
    id_build = rb_intern("build");
    id_endpoints = rb_intern("endpoints");
    id_join = rb_intern("join");
    id_for = rb_intern("for");
}
