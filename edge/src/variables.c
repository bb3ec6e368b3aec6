/* Variables of nginx, for the access log. */
#include "edge.h"

/* Seconds with milliseconds, such as nginx's $upstream_response_time. */
static ngx_int_t variables_time(
        ngx_http_request_t *http, ngx_http_variable_value_t *value, uintptr_t kind) {
    gw_request_t *request = ngx_http_get_module_ctx(http, ngx_http_godwit_module);
    ngx_msec_t spent;
    value->not_found = 1;
    if (!request || !gw_wait_time(request, (gw_wait_kind_t)kind, &spent)) return NGX_OK;
    value->data = ngx_pnalloc(http->pool, NGX_TIME_T_LEN + 4);
    if (!value->data) return NGX_ERROR;
    u_char *end = ngx_sprintf(
            value->data, "%T.%03M", (time_t)(spent / 1000), (ngx_msec_t)(spent % 1000));
    value->len = (unsigned)(end - value->data);
    value->not_found = 0;
    value->valid = 1;
    return NGX_OK;
}

ngx_int_t gw_variables_add(ngx_conf_t *cf) {
    ngx_str_t names[] = {ngx_string("godwit_redis_time"), ngx_string("godwit_zmq_time")};
    for (uintptr_t kind = 0; kind < GW_WAIT_KINDS; kind++) {
        ngx_http_variable_t *one =
                ngx_http_add_variable(cf, &names[kind], NGX_HTTP_VAR_NOCACHEABLE);
        if (!one) return NGX_ERROR;
        one->get_handler = variables_time;
        one->data = kind;
    }
    return NGX_OK;
}
