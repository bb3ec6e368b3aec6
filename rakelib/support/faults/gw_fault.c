/* The switch for Ruby files: GW_FAULT[number], and GW_FAULT.runs(number) for a statement. */
#include "switch.h"
#include <ruby.h>
#ifdef HAVE_RUBY_RACTOR_H
#include <ruby/ractor.h>
#endif

static VALUE is_on(VALUE self, VALUE number) {
    return gw_fault(FIX2INT(number)) ? Qtrue : Qfalse;
}

static VALUE runs(VALUE self, VALUE number) {
    return gw_fault(FIX2INT(number)) ? Qnil : Qtrue;
}

void Init_gw_fault(void) {
#ifdef HAVE_RB_EXT_RACTOR_SAFE
    rb_ext_ractor_safe(true);
#endif
    VALUE module = rb_define_module("GW_FAULT");
    rb_define_singleton_method(module, "[]", is_on, 1);
    rb_define_singleton_method(module, "runs", runs, 1);
}
