/* The apps of a worker, and what they log. */
#include "edge.h"

static ngx_array_t *app_all;

gw_app_t *gw_app_at(ngx_uint_t app) { return (gw_app_t *)app_all->elts + app; }

ngx_uint_t gw_app_count(void) { return app_all->nelts; }

void gw_app_set(ngx_array_t *apps) { app_all = apps; }

void gw_app_log_once(ngx_uint_t app, gw_app_fact_t fact, const char *text) {
    if (gw_app_at(app)->said & fact) return;
    gw_app_at(app)->said |= fact;
    ngx_log_error(NGX_LOG_WARN, gw_vm_log(), 0, "godwit: %V: %s", &gw_app_at(app)->path, text);
}

/* Edge._log(text): into the error log, with the request's id. */
static mrb_value app_log(mrb_state *mrb, mrb_value self) {
    u_char line[1024];
    const char *text;
    mrb_int size;
    mrb_get_args(mrb, "s", &text, &size);
    ngx_str_t said = {ngx_min((size_t)size, sizeof line), line}, none = ngx_null_string;
    ngx_str_t *id = gw_vm.current ? &gw_vm.current->id : &none;
    for (size_t i = 0; i < said.len; i++)
        line[i] = (unsigned char)text[i] < ' ' ? ' ' : (u_char)text[i];
    ngx_log_error(NGX_LOG_ERR, gw_vm_log(), 0, id->len ? "godwit: %V, request id %V" : "godwit: %V",
            &said, id);
    return mrb_nil_value();
}

/* Edge._app: the index of the app whose code runs. */
static mrb_value app_current(mrb_state *mrb, mrb_value self) {
    return mrb_fixnum_value(gw_vm.current ? (mrb_int)gw_vm.current->app : -1);
}

/* Edge._environment(name): nil if it is not set. */
static mrb_value app_environment(mrb_state *mrb, mrb_value self) {
    const char *name;
    mrb_get_args(mrb, "z", &name);
    const char *value = getenv(name);
    return value ? mrb_str_new_cstr(mrb, value) : mrb_nil_value();
}

/* Edge._own(line): whether a backtrace's line is of the edge's own Ruby. */
static mrb_value app_own(mrb_state *mrb, mrb_value self) {
    const char *line;
    mrb_get_args(mrb, "z", &line);
    return mrb_bool_value(gw_stall_own(line));
}

void gw_app_init(mrb_state *mrb) {
    mrb_define_class_method(mrb, gw_vm.edge, "_own", app_own, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, gw_vm.edge, "_log", app_log, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, gw_vm.edge, "_environment", app_environment, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, gw_vm.edge, "_app", app_current, MRB_ARGS_NONE());
}
