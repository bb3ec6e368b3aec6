/* Answers: an app's status, headers and body, and the edge's own errors. */
#include "edge.h"

typedef struct {
    ngx_http_request_t *http;
    gw_request_t *request;
    const char *wrong; /* why it is no header */
    off_t length;      /* the app's Content-Length */
} response_headers_t;

static bool response_is(mrb_value name, const char *expected) {
    size_t size = strlen(expected);
    return (size_t)RSTRING_LEN(name) == size &&
            !ngx_strncasecmp((u_char *)RSTRING_PTR(name), (u_char *)expected, size);
}

/* Those that nginx writes itself, or that belong to the connection. */
static bool response_drops(mrb_value name) {
    static const char *const names[] = {
            "transfer-encoding", "connection", "keep-alive", "date", "server"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (response_is(name, names[i])) return true;
    return false;
}

static const char *response_check_name(mrb_value name) {
    if (!mrb_string_p(name) || !RSTRING_LEN(name)) return "a header's name is a String";
    for (mrb_int i = 0; i < RSTRING_LEN(name); i++) {
        unsigned char byte = (unsigned char)RSTRING_PTR(name)[i];
        if (byte <= ' ' || byte >= 0x7f || strchr("()<>@,;:\\\"/[]?={}", byte))
            return "a header's name has a character that HTTP forbids there";
    }
    return NULL;
}

static const char *response_check_value(mrb_value value) {
    if (mrb_integer_p(value)) return NULL;
    if (mrb_array_p(value)) {
        for (mrb_int i = 0; i < RARRAY_LEN(value); i++) {
            mrb_value line = RARRAY_PTR(value)[i];
            const char *wrong = mrb_array_p(line) ? "" : response_check_value(line);
            if (wrong) return *wrong ? wrong : "a header's Array has Strings and Integers";
        }
        return NULL;
    }
    if (!mrb_string_p(value)) return "a header's value is a String, an Integer or an Array of them";
    for (mrb_int i = 0; i < RSTRING_LEN(value); i++)
        if (strchr("\r\n", RSTRING_PTR(value)[i])) /* also finds NUL */
            return "a header's value has CR, LF or NUL";
    return NULL;
}

const char *gw_response_check_header(mrb_value name, mrb_value value) {
    const char *wrong = response_check_name(name);
    return wrong ? wrong : response_check_value(value);
}

static int response_check(mrb_state *mrb, mrb_value name, mrb_value value, void *data) {
    response_headers_t *headers = data;
    headers->wrong = gw_response_check_header(name, value);
    return headers->wrong != NULL;
}

static ngx_str_t response_copy(ngx_pool_t *pool, mrb_value text) {
    ngx_str_t copy = {(size_t)RSTRING_LEN(text), ngx_pnalloc(pool, (size_t)RSTRING_LEN(text) + 1)};
    if (copy.data) ngx_memcpy(copy.data, RSTRING_PTR(text), copy.len);
    else copy.len = 0;
    return copy;
}

static int response_header(mrb_state *mrb, mrb_value name, mrb_value value, void *data) {
    response_headers_t *headers = data;
    ngx_http_headers_out_t *out = &headers->http->headers_out;
    ngx_pool_t *pool = headers->http->pool;
    if (mrb_array_p(value)) {
        for (mrb_int i = 0; i < RARRAY_LEN(value); i++)
            response_header(mrb, name, RARRAY_PTR(value)[i], data);
        return 0;
    }
    if (mrb_integer_p(value)) value = mrb_integer_to_str(mrb, value, 10);
    if (response_is(name, "content-length")) {
        headers->length = ngx_atoof((u_char *)RSTRING_PTR(value), (size_t)RSTRING_LEN(value));
        if (headers->length < 0) headers->length = GW_BAD_LENGTH;
        return 0;
    }
    if (response_is(name, "content-type")) {
        out->content_type = response_copy(pool, value);
        out->content_type_len = out->content_type.len;
        return 0;
    }
    if (response_drops(name)) {
        gw_app_log_once(headers->request->app, GW_APP_DROPS,
                "the app sets Transfer-Encoding, Connection, Keep-Alive, Date or Server: dropped, "
                "nginx writes these");
        return 0;
    }
    ngx_table_elt_t *header = ngx_list_push(&out->headers);
    if (!header) return 1;
    ngx_memzero(header, sizeof *header);
    header->hash = 1;
    header->key = response_copy(pool, name);
    header->value = response_copy(pool, value);
    if (response_is(name, "content-encoding")) out->content_encoding = header; /* for gzip */
    return 0;
}

void gw_response_end(gw_request_t *request, ngx_int_t code) {
    ngx_http_request_t *http = request->http;
    ngx_connection_t *connection = http->connection;
    request->http = NULL;
    if (request->timer.timer_set) ngx_del_timer(&request->timer);
    ngx_http_finalize_request(http, code);
    ngx_http_run_posted_requests(connection);
}

/* Sends headers and the body, and leaves the request to nginx. Without a buffer, the body is empty,
 * or there is no memory for its size. */
static void response_send(gw_request_t *request, size_t size, ngx_buf_t *buffer) {
    ngx_http_request_t *http = request->http;
    ngx_int_t code = buffer || !size ? ngx_http_send_header(http) : NGX_ERROR;
    bool body = (code == NGX_OK || code == NGX_AGAIN) && !http->header_only;
    if (body && buffer) {
        buffer->last_buf = http == http->main;
        buffer->last_in_chain = 1;
        ngx_chain_t chain = {buffer, NULL};
        code = ngx_http_output_filter(http, &chain);
    } else if (body) {
        code = ngx_http_send_special(http, NGX_HTTP_LAST);
    }
    gw_response_end(request, code);
}

void gw_response_fail(gw_request_t *request, ngx_uint_t status, const char *word, mrb_int offset) {
    enum { MOST = 128 };
    ngx_http_request_t *http = request->http;
    if (!http) return;
    if (http->header_sent) { /* of a stream, which is not whole */
        gw_response_end(request, NGX_ERROR);
        return;
    }
    if (gw_vm.full && status == NGX_HTTP_INTERNAL_SERVER_ERROR) { /* such as SystemStackError */
        status = NGX_HTTP_SERVICE_UNAVAILABLE;
        word = "memory";
    }
    ngx_buf_t *buffer = ngx_create_temp_buf(http->pool, MOST);
    if (buffer) {
        buffer->last = ngx_slprintf(buffer->last, buffer->end, "{\"error\":\"%s\"", word);
        if (offset >= 0)
            buffer->last = ngx_slprintf(
                    buffer->last, buffer->end, ",\"offset\":%L", (int64_t)offset);
        *buffer->last++ = '}';
    }
    ngx_http_clean_header(http);
    http->headers_out.status = status;
    ngx_str_set(&http->headers_out.content_type, "application/json");
    http->headers_out.content_type_len = http->headers_out.content_type.len;
    http->headers_out.content_length_n = buffer ? buffer->last - buffer->pos : 0;
    response_send(request, MOST, buffer);
}

/* Edge._fail(status, word, offset) */
static mrb_value response_fail(mrb_state *mrb, mrb_value self) {
    mrb_int status, offset;
    const char *word;
    mrb_get_args(mrb, "izi", &status, &word, &offset);
    gw_response_fail(gw_vm.current, (ngx_uint_t)status, word, offset);
    return mrb_nil_value();
}

static void response_check_head(mrb_state *mrb, mrb_value status, mrb_value headers) {
    response_headers_t all = {.wrong = NULL};
    if (!mrb_integer_p(status) || mrb_integer(status) < 200 || mrb_integer(status) > 599)
        gw_vm_raise("ResponseError", "a status is an Integer from 200 to 599");
    if (!mrb_hash_p(headers)) gw_vm_raise("ResponseError", "headers are a Hash");
    mrb_hash_foreach(mrb, mrb_hash_ptr(headers), response_check, &all);
    if (all.wrong) gw_vm_raise("ResponseError", "%s", all.wrong);
}

off_t gw_response_head(mrb_state *mrb, mrb_value status, mrb_value headers) {
    gw_request_t *request = gw_vm.current;
    ngx_http_request_t *http = request->http;
    response_headers_t all = {.http = http, .request = request, .length = GW_NO_LENGTH};
    response_check_head(mrb, status, headers);
    http->headers_out.status = (ngx_uint_t)mrb_integer(status);
    http->disable_not_modified = 1; /* nginx would answer 412 or 304 after the app has run */
    mrb_hash_foreach(mrb, mrb_hash_ptr(headers), response_header, &all);
    return all.length;
}

static void response_length(gw_request_t *request, off_t length, size_t size) {
    ngx_http_request_t *http = request->http;
    http->headers_out.content_length_n = (off_t)size;
    if (length == GW_NO_LENGTH || length == (off_t)size) return;
    if (http->method == NGX_HTTP_HEAD && !size && length != GW_BAD_LENGTH)
        http->headers_out.content_length_n = length;
    else
        gw_app_log_once(request->app, GW_APP_MISCOUNTS,
                "the app's Content-Length is not the length of its body: replaced");
}

static size_t response_size(mrb_state *mrb, mrb_value parts) {
    size_t size = 0;
    for (mrb_int i = 0; i < RARRAY_LEN(parts); i++) {
        if (!mrb_string_p(RARRAY_PTR(parts)[i]))
            gw_vm_raise("ResponseError", "a body has Strings");
        size += (size_t)RSTRING_LEN(RARRAY_PTR(parts)[i]);
    }
    return size;
}

/* Edge._check(status, headers, parts) raises ResponseError for what is no answer: for tests of
 * apps. */
static mrb_value response_check_only(mrb_state *mrb, mrb_value self) {
    mrb_value status, headers, parts;
    mrb_get_args(mrb, "ooA", &status, &headers, &parts);
    response_check_head(mrb, status, headers);
    response_size(mrb, parts);
    return mrb_nil_value();
}

/* Edge._respond(status, headers, parts), likewise. */
static mrb_value response_respond(mrb_state *mrb, mrb_value self) {
    mrb_value status, headers, parts;
    mrb_get_args(mrb, "ooA", &status, &headers, &parts);
    gw_request_t *request = gw_vm.current;
    if (!request->http) return mrb_nil_value(); /* it has an answer, or the client has left */
    size_t size = response_size(mrb, parts);
    off_t length = gw_response_head(mrb, status, headers);
    ngx_buf_t *buffer = size ? ngx_create_temp_buf(request->http->pool, size) : NULL;
    for (mrb_int i = 0; buffer && i < RARRAY_LEN(parts); i++) {
        mrb_value part = RARRAY_PTR(parts)[i];
        buffer->last = ngx_cpymem(buffer->last, RSTRING_PTR(part), (size_t)RSTRING_LEN(part));
    }
    response_length(request, length, size);
    response_send(request, size, buffer);
    return mrb_nil_value();
}

void gw_response_init(mrb_state *mrb) {
    mrb_define_class_method(mrb, gw_vm.edge, "_check", response_check_only, MRB_ARGS_REQ(3));
    mrb_define_class_method(mrb, gw_vm.edge, "_respond", response_respond, MRB_ARGS_REQ(3));
    mrb_define_class_method(mrb, gw_vm.edge, "_fail", response_fail, MRB_ARGS_REQ(3));
}
