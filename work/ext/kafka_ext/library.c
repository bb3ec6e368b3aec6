/* Opens librdkafka, once in a process. Every function needs the GVL. */
#include "kafka_ext.h"
#include <dlfcn.h>
#include <ruby/encoding.h>

gw_librdkafka_t gw_rd;
static VALUE library_kafka, library_path; /* module Work::Kafka; path of the open library or nil */

void gw_check(bool right, VALUE error, const char *format, ...) {
    if (right) return;
    va_list arguments;
    va_start(arguments, format);
    VALUE message = rb_enc_vsprintf(rb_utf8_encoding(), format, arguments);
    va_end(arguments);
    rb_exc_raise(rb_exc_new_str(error, message));
}

VALUE gw_text(const char *text) {
    VALUE string = rb_utf8_str_new_cstr(text), scrubbed = rb_str_scrub(string, Qnil);
    return NIL_P(scrubbed) ? string : scrubbed; /* nil: all bytes are valid UTF-8 */
}

VALUE gw_class(const char *name) { return rb_const_get(library_kafka, rb_intern(name)); }

/* Native.open(path). The library is never closed: its threads may outlive Ruby's objects. */
static VALUE library_open(VALUE self, VALUE path) {
    const char *name = StringValueCStr(path);
    if (RTEST(rb_equal(library_path, path))) return Qnil;
    gw_check(NIL_P(library_path), rb_eLoadError, "cannot open %s: use another process, since this "
            "one has opened %" PRIsVALUE, name, library_path);
    gw_librdkafka_t found;
    VALUE missing = rb_ary_new();
    void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    gw_check(handle != NULL, rb_eLoadError, "cannot open librdkafka: %s", handle ? "" : dlerror());
#define LIBRARY_FIND(type, name, parameters)                                                       \
    if (!(*(void **)&found.name = dlsym(handle, "rd_kafka_" #name)))                               \
        rb_ary_push(missing, rb_str_new_cstr("rd_kafka_" #name));
    GW_LIBRDKAFKA_FUNCTIONS(LIBRARY_FIND)
    gw_check(RARRAY_LEN(missing) == 0, rb_eLoadError, "%s is no librdkafka, or too old: it lacks %"
            PRIsVALUE, name, rb_ary_join(missing, rb_str_new_cstr(", ")));
    gw_rd = found;
    rb_gc_register_mark_object(library_path = rb_str_new_frozen(path));
    return Qnil;
}

void *gw_library_handle(VALUE address) {
    gw_check(!NIL_P(library_path), rb_eRuntimeError, "librdkafka is not open: call Native.open");
    void *handle = (void *)(uintptr_t)NUM2ULL(address);
    gw_check(handle != NULL, rb_eArgError, "a handle of librdkafka has the address 0");
    return handle;
}

void gw_init_library(VALUE kafka, VALUE native) {
    library_kafka = kafka; /* needs no mark: a constant refers to it */
    library_path = Qnil;
    rb_define_singleton_method(native, "open", library_open, 1);
}
