/* App files: parsed in the master, run in each worker in a fiber. */
#include "edge.h"
#include <mruby/compile.h>
#include <stdio.h>

enum { APP_AGAIN = 1000 }; /* milliseconds until a file that has raised runs again */

static ngx_array_t *app_all; /* gw_app_t, of nginx's configuration */
static bool app_check;
static ngx_uint_t app_starting; /* files that run */

gw_app_t *gw_app_at(ngx_uint_t app) { return (gw_app_t *)app_all->elts + app; }

static void app_log(ngx_uint_t level, const char *text, size_t size) {
    u_char line[1024];
    ngx_str_t said = {ngx_min(size, sizeof line), line}, none = ngx_null_string;
    ngx_str_t *id = gw_vm.current ? &gw_vm.current->id : &none;
    for (size_t i = 0; i < said.len; i++)
        line[i] = (unsigned char)text[i] < ' ' ? ' ' : (u_char)text[i];
    ngx_log_error(level, gw_vm_log(), 0, id->len ? "godwit: %V, request id %V" : "godwit: %V",
            &said, id);
}

void gw_app_log_once(ngx_uint_t app, gw_app_fact_t fact, const char *text) {
    if (gw_app_at(app)->said & fact) return;
    gw_app_at(app)->said |= fact;
    ngx_log_error(NGX_LOG_WARN, gw_vm_log(), 0, "godwit: %V: %s", &gw_app_at(app)->path, text);
}

static int app_arguments(mrb_state *mrb, void *data, mrb_value *arguments) {
    gw_request_t *request = data;
    ngx_str_t *path = &gw_app_at(request->app)->path;
    arguments[0] = mrb_fixnum_value((mrb_int)request->app);
    arguments[1] = mrb_str_new(mrb, (char *)path->data, path->len);
    return 2;
}

static void app_boot(ngx_uint_t index) {
    gw_request_t *request = gw_request_make(NULL, index);
    if (request) gw_vm_enter(request, GW_BOOT, app_arguments, request);
    else ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "godwit: no memory for an app");
}

static void app_again(ngx_event_t *event) {
    app_boot((ngx_uint_t)(gw_of(event, gw_app_t, again) - gw_app_at(0)));
}

static mrb_value app_names(mrb_state *mrb, void *unused) {
    for (ngx_uint_t i = 0; i < app_all->nelts; i++) {
        gw_app_t *app = gw_app_at(i);
        app->script_name = gw_vm_keep(mrb_str_new(mrb, (char *)app->script.data, app->script.len));
    }
    return mrb_nil_value();
}

void gw_app_start(ngx_array_t *apps, bool check) {
    app_all = apps;
    app_check = check;
    app_starting = apps->nelts;
    gw_vm_protect(app_names, NULL);
    for (ngx_uint_t i = 0; i < apps->nelts; i++) {
        gw_app_t *app = gw_app_at(i);
        app->state = GW_APP_STARTS;
        app->said = 0;
        ngx_queue_init(&app->requests);
        gw_vm_event(&app->again, app_again);
        app->again.cancelable = 1;
    }
    for (ngx_uint_t i = 0; i < apps->nelts; i++) app_boot(i);
}

/* Edge._started(app, well): its file has run. */
static mrb_value app_started(mrb_state *mrb, mrb_value self) {
    static bool failed;
    mrb_int index;
    mrb_bool well;
    mrb_get_args(mrb, "ib", &index, &well);
    gw_app_t *app = gw_app_at((ngx_uint_t)index);
    if (app->state == GW_APP_STARTS) app_starting--;
    app->state = well ? GW_APP_READY : GW_APP_FAILED;
    failed |= !well;
    if (app_check && !app_starting) _exit(failed);
    if (!well) ngx_add_timer(&app->again, APP_AGAIN);
    while (!ngx_queue_empty(&app->requests))
        gw_request_start(ngx_queue_data(ngx_queue_head(&app->requests), gw_request_t, link));
    return mrb_nil_value();
}

/* Edge._log(text): into the error log, with the request's id. */
static mrb_value app_log_error(mrb_state *mrb, mrb_value self) {
    const char *text;
    mrb_int size;
    mrb_get_args(mrb, "s", &text, &size);
    app_log(NGX_LOG_ERR, text, (size_t)size);
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

void gw_app_init(mrb_state *mrb) {
    mrb_define_class_method(mrb, gw_vm.edge, "_started", app_started, MRB_ARGS_REQ(2));
    mrb_define_class_method(mrb, gw_vm.edge, "_log", app_log_error, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, gw_vm.edge, "_environment", app_environment, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, gw_vm.edge, "_app", app_current, MRB_ARGS_NONE());
}

/* A VM of its own: the master has none. The error has file:line. */
const char *gw_app_parse(ngx_conf_t *cf, const char *path) {
    FILE *file = fopen(path, "r");
    if (!file) return "it cannot be read";
    mrb_state *mrb = mrb_open_core(NULL, NULL);
    mrbc_context *context = mrb ? mrbc_context_new(mrb) : NULL;
    u_char *said = NULL;
    if (context) {
        mrbc_filename(mrb, context, path);
        context->capture_errors = TRUE;
        struct mrb_parser_state *parser = mrb_parse_file(mrb, file, context);
        if (!parser || parser->nerr) {
            said = ngx_pnalloc(cf->pool, 512);
            if (said)
                ngx_snprintf(said, 512, "%s:%d: %s%Z", path,
                        parser ? parser->error_buffer[0].lineno : 0,
                        parser ? parser->error_buffer[0].message : "no memory");
        }
        if (parser) mrb_parser_free(parser);
        mrbc_context_free(mrb, context);
    }
    if (mrb) mrb_close(mrb);
    fclose(file);
    return context ? (const char *)said : "no memory for a VM of mruby";
}
