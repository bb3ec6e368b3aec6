/* A request from nginx's handler to its last wait. While Ruby runs, it is gw_vm.current. */
#include "edge.h"

static void request_free(gw_request_t *request) {
    gw_wait_orphan(request); /* waits of fibers that the app has left */
    if (request->stream) ngx_free(request->stream);
    ngx_free(request);
}

static void request_refuse(gw_request_t *request) {
    gw_response_fail(request, NGX_HTTP_INTERNAL_SERVER_ERROR, "internal", -1);
}

/* Without an answer if memory was short. */
static void request_leave(gw_request_t *request) {
    gw_fetch_abort(request); /* nginx may free the request then */
    request->runs = false;
    if (request->gone) request_free(request);
    else request_refuse(request);
}

static int request_arguments(mrb_state *mrb, void *data, mrb_value *arguments) {
    gw_request_t *request = data;
    arguments[0] = mrb_fixnum_value((mrb_int)request->app);
    arguments[1] = gw_env_make(mrb, request);
    return 2;
}

static void request_start(ngx_event_t *event) {
    gw_request_t *request = gw_of(event, gw_request_t, start);
    if (!request->http) return;
    if (gw_app_at(request->app)->state == GW_APP_FAILED) {
        gw_response_fail(request, NGX_HTTP_SERVICE_UNAVAILABLE, "unavailable", -1);
        return;
    }
    if (gw_vm.full) {
        request_refuse(request);
        return;
    }
    request->runs = true;
    if (!gw_vm_enter(request, GW_RUN, request_arguments, request)) request_leave(request);
}

void gw_request_start(gw_request_t *request) {
    ngx_queue_remove(&request->link);
    ngx_queue_init(&request->link);
    gw_post(&request->start);
}

static void request_timeout(ngx_event_t *event) {
    gw_request_t *request = gw_of(event, gw_request_t, timer);
    gw_wait_fail(request, "TimeoutError", "the request had no answer in time (godwit_timeout)");
    gw_fetch_abort(request);
    gw_response_fail(request, NGX_HTTP_GATEWAY_TIME_OUT, "timeout", -1);
}

/* nginx frees the request: it has its answer, or the client has left. */
static void request_gone(void *data) {
    gw_request_t *request = data;
    bool answered = !request->http;
    request->http = NULL;
    request->gone = true;
    if (request->timer.timer_set) ngx_del_timer(&request->timer);
    gw_unpost(&request->start);
    ngx_queue_remove(&request->link);
    if (request->stream) gw_stream_gone(request->stream);
    if (!request->runs) request_free(request);
    else if (!answered) gw_wait_fail(request, "Cancelled", "the client has left");
}

gw_request_t *gw_request_make(ngx_http_request_t *http, ngx_uint_t app) {
    gw_request_t *request = ngx_calloc(sizeof *request, ngx_cycle->log);
    if (!request) return NULL;
    request->http = http;
    request->app = app;
    request->runs = request->gone = http == NULL;
    ngx_queue_init(&request->waits);
    ngx_queue_init(&request->link);
    ngx_queue_init(&request->fetches);
    gw_vm_event(&request->start, request_start);
    gw_vm_event(&request->timer, request_timeout);
    return request;
}

/* nginx has read the body. */
static void request_begin(ngx_http_request_t *http) {
    gw_request_t *request = ngx_http_get_module_ctx(http, ngx_http_godwit_module);
    gw_app_t *app = gw_app_at(request->app);
    ngx_add_timer(&request->timer, request->timeout);
    http->read_event_handler = ngx_http_test_reading; /* sees that the client leaves */
    if (app->state != GW_APP_STARTS) {
        gw_request_start(request);
        return;
    }
    ngx_queue_insert_tail(&app->requests, &request->link);
}

ngx_int_t gw_request_handle(ngx_http_request_t *http, ngx_uint_t app, ngx_msec_t timeout) {
    ngx_pool_cleanup_t *cleanup = ngx_pool_cleanup_add(http->pool, 0);
    gw_request_t *request = cleanup ? gw_request_make(http, app) : NULL;
    if (!request) return NGX_HTTP_INTERNAL_SERVER_ERROR;
    cleanup->handler = request_gone;
    cleanup->data = request;
    ngx_http_set_ctx(http, request, ngx_http_godwit_module);
    request->timeout = timeout;
    ngx_int_t code = ngx_http_read_client_request_body(http, request_begin);
    return code >= NGX_HTTP_SPECIAL_RESPONSE ? code : NGX_DONE;
}

/* Edge._finish: Ruby has left the request. */
static mrb_value request_finish(mrb_state *mrb, mrb_value self) {
    gw_request_t *request = gw_vm.current;
    gw_vm.current = NULL;
    request_leave(request);
    return mrb_nil_value();
}

void gw_request_init(mrb_state *mrb) {
    mrb_define_class_method(mrb, gw_vm.edge, "_finish", request_finish, MRB_ARGS_NONE());
}
