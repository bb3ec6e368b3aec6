/* The module of nginx: directives, the handler, the beginning and the end of a worker. */
#include "edge.h"
#include <godwit.h>
#include <mruby/irep.h>

extern const uint8_t gw_edge_irep[];

enum { MODULE_FETCH_MOST = 1024 * 1024 }; /* bytes */

typedef struct {
    ngx_array_t apps;     /* gw_app_t */
    ngx_int_t request_id; /* index of nginx's variable $request_id */
    ngx_flag_t check;
    size_t memory; /* bytes; 0: off */
    ngx_str_t memory_text;
    ngx_msec_t stall; /* 0: off */
} module_main_t;

/* The VM takes some 3 MiB before an app's file has run. */
enum { MODULE_MEMORY_LEAST = 8 * 1024 * 1024, MODULE_STALL_MOST = 9000 };

typedef struct {
    ngx_uint_t app;
    ngx_msec_t timeout;
} module_location_t;

static ngx_int_t module_handler(ngx_http_request_t *http) {
    module_location_t *location = ngx_http_get_module_loc_conf(http, ngx_http_godwit_module);
    if (!gw_vm.mrb) return NGX_HTTP_SERVICE_UNAVAILABLE;
    return gw_request_handle(http, location->app, location->timeout);
}

/* The location, unless it is a regular expression or has a name. */
static ngx_str_t module_script(const ngx_http_core_loc_conf_t *core) {
    ngx_str_t name = core->name;
    if (!name.len || name.data[0] != '/' || core->noname || core->named) name.len = 0;
#if (NGX_PCRE)
    if (core->regex) name.len = 0;
#endif
    while (name.len && name.data[name.len - 1] == '/') name.len--;
    return name;
}

/* godwit_app FILE; */
static char *module_app(ngx_conf_t *cf, ngx_command_t *command, void *conf) {
    module_location_t *location = conf;
    module_main_t *main = ngx_http_conf_get_module_main_conf(cf, ngx_http_godwit_module);
    ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    ngx_str_t path = ((ngx_str_t *)cf->args->elts)[1];
    if (core->handler) return "is duplicate, or the location has another handler";
    if (ngx_conf_full_name(cf->cycle, &path, 1) != NGX_OK) return NGX_CONF_ERROR;
    const char *wrong = gw_boot_parse(cf, (const char *)path.data);
    if (wrong) {
        ngx_conf_log_error(NGX_LOG_EMERG, cf, 0, "godwit_app \"%V\": %s", &path, wrong);
        return NGX_CONF_ERROR;
    }
    gw_app_t *app = ngx_array_push(&main->apps);
    if (!app) return NGX_CONF_ERROR;
    ngx_memzero(app, sizeof *app);
    app->path = path;
    app->script = module_script(core);
    location->app = main->apps.nelts - 1;
    core->handler = module_handler;
    return NGX_CONF_OK;
}

static bool module_off(const ngx_str_t *value) {
    return !ngx_strcmp(value->data, "off") || !ngx_strcmp(value->data, "0");
}

/* godwit_memory SIZE; */
static char *module_memory(ngx_conf_t *cf, ngx_command_t *command, void *conf) {
    module_main_t *main = conf;
    ngx_str_t *value = (ngx_str_t *)cf->args->elts + 1;
    if (main->memory_text.len) return "is duplicate";
    main->memory_text = *value;
    if (module_off(value)) return NGX_CONF_OK;
    ssize_t size = ngx_parse_size(value);
    if (size < MODULE_MEMORY_LEAST) return "is a size of 8m or more, or off";
    main->memory = (size_t)size;
    return NGX_CONF_OK;
}

/* godwit_stall SECONDS; */
static char *module_stall(ngx_conf_t *cf, ngx_command_t *command, void *conf) {
    module_main_t *main = conf;
    ngx_str_t *value = (ngx_str_t *)cf->args->elts + 1;
    if (main->stall != NGX_CONF_UNSET_MSEC) return "is duplicate";
    ngx_int_t milliseconds = module_off(value) ? 0 : ngx_atofp(value->data, value->len, 3);
    if (milliseconds < 0 || milliseconds > MODULE_STALL_MOST)
        return "is a number of seconds from 0.001 to 9, such as 0.1, or off";
    main->stall = (ngx_msec_t)milliseconds;
    return NGX_CONF_OK;
}

static void *module_make_main(ngx_conf_t *cf) {
    module_main_t *main = ngx_pcalloc(cf->pool, sizeof *main);
    if (!main || ngx_array_init(&main->apps, cf->pool, 4, sizeof(gw_app_t)) != NGX_OK) return NULL;
    main->check = NGX_CONF_UNSET;
    main->stall = NGX_CONF_UNSET_MSEC;
    return main;
}

static void *module_make_location(ngx_conf_t *cf) {
    module_location_t *location = ngx_pcalloc(cf->pool, sizeof *location);
    if (location) location->timeout = NGX_CONF_UNSET_MSEC;
    return location;
}

static char *module_merge_location(ngx_conf_t *cf, void *parent, void *child) {
    module_location_t *outer = parent, *inner = child;
    ngx_http_core_loc_conf_t *core = ngx_http_conf_get_module_loc_conf(cf, ngx_http_core_module);
    ngx_conf_merge_msec_value(inner->timeout, outer->timeout, 10000);
    /* Answers of Edge.fetch; the core module has merged its own settings before. */
    core->subrequest_output_buffer_size =
            ngx_max(core->subrequest_output_buffer_size, MODULE_FETCH_MOST);
    return NGX_CONF_OK;
}

static ngx_int_t module_configured(ngx_conf_t *cf) {
    module_main_t *main = ngx_http_conf_get_module_main_conf(cf, ngx_http_godwit_module);
    ngx_str_t name = ngx_string("request_id");
    main->request_id = ngx_http_get_variable_index(cf, &name);
    gw_fetch_configure();
    return main->request_id == NGX_ERROR ? NGX_ERROR : NGX_OK;
}

static void module_raise(mrb_state *mrb) {
    mrb_value error = mrb->exc ? mrb_obj_value(mrb->exc) : mrb_nil_value();
    mrb->exc = NULL;
    if (!mrb_nil_p(error)) mrb_exc_raise(mrb, error);
}

static mrb_value module_open(mrb_state *mrb, void *unused) {
    static const char *const names[] = {"BOOT", "RUN", "RESUME", "LOOK", "LOOK_ALL"};
    static void (*const parts[])(mrb_state *) = {gw_json_init, gw_wait_init, gw_watch_init,
            gw_redis_init, gw_app_init, gw_response_init, gw_stream_init, gw_fetch_init,
            gw_request_init, gw_boot_init};
    godwit_mruby_open(mrb);
    module_raise(mrb);
    gw_vm.edge = mrb_define_module(mrb, "Edge");
    gw_vm.slots = mrb_ary_new(mrb);
    mrb_gc_register(mrb, gw_vm.slots);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) parts[i](mrb);
    mrb_load_irep(mrb, gw_edge_irep);
    module_raise(mrb);
    mrb_value entry = mrb_obj_value(mrb_module_get_under(mrb, gw_vm.edge, "Entry"));
    for (int i = 0; i < GW_PROCS; i++)
        gw_vm.procs[i] = gw_vm_keep(mrb_const_get(mrb, entry, mrb_intern_cstr(mrb, names[i])));
    gw_env_init(mrb);
    return mrb_nil_value();
}

static ngx_int_t module_worker_begins(ngx_cycle_t *cycle) {
    module_main_t *main = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_godwit_module);
    bool serves = ngx_process == NGX_PROCESS_WORKER || ngx_process == NGX_PROCESS_SINGLE;
    if (!main || !main->apps.nelts || !serves) return NGX_OK;
    if (main->stall != NGX_CONF_UNSET_MSEC) gw_stall_start(main->stall);
    gw_vm.mrb = gw_memory_open(
            ngx_process == NGX_PROCESS_WORKER ? main->memory : 0, main->memory_text);
    if (!gw_vm.mrb || !gw_vm_protect(module_open, NULL)) {
        ngx_log_error(NGX_LOG_ERR, cycle->log, 0, "godwit: no VM of mruby");
        return NGX_ERROR;
    }
    gw_env_set_index(main->request_id);
    gw_app_set(&main->apps);
    gw_boot_start(main->check == 1);
    return NGX_OK;
}

static ngx_int_t module_check_begins(ngx_cycle_t *cycle) {
    module_main_t *main = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_godwit_module);
    main->check = 1;
    return module_worker_begins(cycle);
}

/* nginx has read a whole configuration: at its start, for a command such as -t, or for HUP. */
static char *module_read(ngx_cycle_t *cycle, void *unused) {
    module_main_t *main = ngx_http_cycle_get_module_main_conf(cycle, ngx_http_godwit_module);
    if (ngx_process != NGX_PROCESS_MASTER || !main || !main->apps.nelts) return NGX_CONF_OK;
    return gw_reload_check(cycle, module_check_begins) ? NGX_CONF_OK : NGX_CONF_ERROR;
}

static void module_worker_ends(ngx_cycle_t *cycle) {
    if (!gw_vm.mrb) return;
    gw_memory_lift(); /* what ends may raise no more */
    gw_watch_close_all();
    mrb_close(gw_vm.mrb); /* its objects of C close their connections */
    gw_vm.mrb = NULL;
}

static ngx_command_t module_commands[] = {
        {ngx_string("godwit_app"), NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1, module_app,
                NGX_HTTP_LOC_CONF_OFFSET, 0, NULL},
        {ngx_string("godwit_timeout"),
                NGX_HTTP_MAIN_CONF | NGX_HTTP_SRV_CONF | NGX_HTTP_LOC_CONF | NGX_CONF_TAKE1,
                ngx_conf_set_msec_slot, NGX_HTTP_LOC_CONF_OFFSET,
                offsetof(module_location_t, timeout), NULL},
        {ngx_string("godwit_check"), NGX_HTTP_MAIN_CONF | NGX_CONF_FLAG, ngx_conf_set_flag_slot,
                NGX_HTTP_MAIN_CONF_OFFSET, offsetof(module_main_t, check), NULL},
        {ngx_string("godwit_memory"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, module_memory,
                NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL},
        {ngx_string("godwit_stall"), NGX_HTTP_MAIN_CONF | NGX_CONF_TAKE1, module_stall,
                NGX_HTTP_MAIN_CONF_OFFSET, 0, NULL},
        ngx_null_command};

static ngx_http_module_t module_context = {gw_variables_add, module_configured, module_make_main,
        NULL, NULL, NULL, module_make_location, module_merge_location};

ngx_module_t ngx_http_godwit_module = {NGX_MODULE_V1, &module_context, module_commands,
        NGX_HTTP_MODULE, NULL, NULL, module_worker_begins, NULL, NULL, module_worker_ends, NULL,
        NGX_MODULE_V1_PADDING};

/* An error after init_conf of a core module would end the master. */
static ngx_core_module_t module_reload_context = {ngx_string("godwit_reload"), NULL, module_read};

ngx_module_t ngx_godwit_reload_module = {NGX_MODULE_V1, &module_reload_context, NULL,
        NGX_CORE_MODULE, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NGX_MODULE_V1_PADDING};
