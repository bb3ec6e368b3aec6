/* App files: parsed in the master, run in each worker in a fiber. */
#include "edge.h"
#include <mruby/compile.h>
#include <stdio.h>

enum { BOOT_AGAIN = 1000 }; /* milliseconds until a file that has raised runs again */

static bool boot_check;
static ngx_uint_t boot_starting; /* files that run */

static int boot_arguments(mrb_state *mrb, void *data, mrb_value *arguments) {
    gw_request_t *request = data;
    gw_app_t *app = gw_app_at(request->app);
    if (app->state == GW_APP_STARTS)
        app->script_name = gw_vm_keep(mrb_str_new(mrb, (char *)app->script.data, app->script.len));
    arguments[0] = mrb_fixnum_value((mrb_int)request->app);
    arguments[1] = mrb_str_new(mrb, (char *)app->path.data, app->path.len);
    return 2;
}

static void boot_end(ngx_uint_t index, bool well) {
    static bool failed;
    gw_app_t *app = gw_app_at(index);
    if (app->state == GW_APP_STARTS) boot_starting--;
    app->state = well ? GW_APP_READY : GW_APP_FAILED;
    failed |= !well;
    if (boot_check && !boot_starting) {
        fflush(stdout);
        _exit(failed || gw_vm.full);
    }
    ngx_log_error(NGX_LOG_NOTICE, ngx_cycle->log, 0,
            well ? "godwit: %V is ready" : "godwit: %V runs again in a second", &app->path);
    if (!well) ngx_add_timer(&app->again, BOOT_AGAIN);
    while (!ngx_queue_empty(&app->requests))
        gw_request_start(ngx_queue_data(ngx_queue_head(&app->requests), gw_request_t, link));
}

static void boot_run(ngx_uint_t index) {
    gw_request_t *request = gw_request_make(NULL, index);
    if (request && gw_vm_enter(request, GW_BOOT, boot_arguments, request)) return;
    ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "godwit: no memory for an app");
    boot_end(index, false);
}

static void boot_again(ngx_event_t *event) {
    boot_run((ngx_uint_t)(gw_of(event, gw_app_t, again) - gw_app_at(0)));
}

void gw_boot_start(bool check) {
    boot_check = check;
    boot_starting = gw_app_count();
    for (ngx_uint_t i = 0; i < gw_app_count(); i++) {
        gw_app_t *app = gw_app_at(i);
        app->state = GW_APP_STARTS;
        app->said = 0;
        ngx_queue_init(&app->requests);
        gw_vm_event(&app->again, boot_again);
        app->again.cancelable = 1;
    }
    for (ngx_uint_t i = 0; i < gw_app_count(); i++) boot_run(i);
}

/* Edge._started(app, well): its file has run. */
static mrb_value boot_started(mrb_state *mrb, mrb_value self) {
    mrb_int index;
    mrb_bool well;
    mrb_get_args(mrb, "ib", &index, &well);
    boot_end((ngx_uint_t)index, well);
    return mrb_nil_value();
}

void gw_boot_init(mrb_state *mrb) {
    mrb_define_class_method(mrb, gw_vm.edge, "_started", boot_started, MRB_ARGS_REQ(2));
}

/* A VM of its own: the master has none. The error has file:line. */
const char *gw_boot_parse(ngx_conf_t *cf, const char *path) {
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
