/* The one place that raises. The classes, their messages and hints are Ruby's (api/errors.yml,
 * lib/godwit/errors.rb). */
#include "process.h"

VALUE gw_mGodwit;

static VALUE errors, hints; /* Godwit::Errors, Godwit::ErrorHints */
static ID id_build, id_endpoints, id_join, id_for;

/* A socket's endpoints are asked for; other objects have none. */
static VALUE error_endpoint_of(VALUE self, VALUE endpoint) {
    if (!NIL_P(endpoint) || !rb_respond_to(self, id_endpoints)) return endpoint;
    VALUE all = rb_funcall(self, id_endpoints, 0);
    return RARRAY_LEN(all) ? rb_funcall(all, id_join, 1, rb_str_new_cstr(", ")) : Qnil;
}

/* `what` is an errno, or the class of an error that libzmq has no errno for. */
NORETURN(static void error_raise_with(
        VALUE what, const char *operation, VALUE self, VALUE endpoint));

static void error_raise_with(VALUE what, const char *operation, VALUE self, VALUE endpoint) {
    VALUE name = ID2SYM(rb_intern(operation));
    endpoint = error_endpoint_of(self, endpoint);
    VALUE hint = rb_funcall(hints, id_for, 4, what, name, self, endpoint);
    rb_exc_raise(rb_funcall(errors, id_build, 4, what, name, endpoint, hint));
}

void gw_raise(int error, const char *operation, VALUE self, VALUE endpoint) {
    error_raise_with(INT2NUM(error), operation, self, endpoint);
}

void gw_raise_closed(const char *operation, VALUE self) {
    error_raise_with(rb_const_get(gw_mGodwit, rb_intern("ClosedError")), operation, self, Qnil);
}

void gw_raise_forked(const char *operation, VALUE self) {
    error_raise_with(rb_const_get(gw_mGodwit, rb_intern("ForkedError")), operation, self, Qnil);
}

/* A frame that was sent or closed. */
void gw_raise_gone(const char *operation, VALUE self) {
    error_raise_with(rb_const_get(gw_mGodwit, rb_intern("GoneError")), operation, self, Qnil);
}

void gw_raise_busy(const char *operation, VALUE self) {
    error_raise_with(rb_const_get(gw_mGodwit, rb_intern("BusyError")), operation, self, Qnil);
}

/* A high-water mark of a socket that has or had an endpoint. */
void gw_raise_fixed(VALUE self) {
    error_raise_with(rb_const_get(gw_mGodwit, rb_intern("StateError")), "set", self, Qnil);
}

/* A message that libzmq was never asked to send: of the wrong type, without a frame, or of a form
 * that the socket does not take. */
void gw_raise_message(VALUE message, const char *operation, VALUE self) {
    rb_exc_raise(rb_funcall(
            hints, rb_intern("bad_message"), 3, message, ID2SYM(rb_intern(operation)), self));
}

void gw_raise_detail(const char *name, const char *operation, VALUE detail) {
    VALUE class = rb_const_get(gw_mGodwit, rb_intern(name));
    rb_exc_raise(
            rb_funcall(errors, id_build, 4, class, ID2SYM(rb_intern(operation)), Qnil, detail));
}

int64_t gw_milliseconds(VALUE timeout, int64_t otherwise) {
    return NIL_P(timeout) ? otherwise : NUM2LL(timeout);
}

void gw_init_error(void) {
    errors = rb_const_get(gw_mGodwit, rb_intern("Errors"));
    hints = rb_const_get(gw_mGodwit, rb_intern("ErrorHints"));
    rb_gc_register_mark_object(errors);
    rb_gc_register_mark_object(hints);
    id_build = rb_intern("build");
    id_endpoints = rb_intern("endpoints");
    id_join = rb_intern("join");
    id_for = rb_intern("for");
}
