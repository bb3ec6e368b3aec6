/* Edge.fetch: a subrequest of nginx, whose answer stays in memory. nginx runs it in the background
 * of the connection's main request, which cannot end before it. */
#include "edge.h"

typedef struct {
    gw_ticket_t *ticket; /* NULL: the fetch has ended, or has not begun */
    bool gone;           /* nginx ends the main request */
    gw_request_t *request;
    ngx_http_request_t *http; /* the subrequest */
    ngx_queue_t link;         /* of gw_request_t.fetches */
    ngx_event_t start;
    ngx_http_post_subrequest_t post;
    ngx_str_t target, method; /* path with query */
    ngx_table_elt_t *lines;   /* headers */
    ngx_uint_t count;
    ngx_http_request_body_t *body; /* NULL: none */
    off_t size;                    /* of the body; -1: none */
    ngx_http_variable_value_t *variables;
} fetch_t;

/* Without a value if the fiber has an error already. */
static void fetch_end(fetch_t *fetch, mrb_value value) {
    ngx_queue_remove(&fetch->link);
    gw_unpost(&fetch->start);
    gw_wait_end(fetch->ticket, value);
    fetch->ticket = NULL;
}

/* ---- the answer ---- */

/* nginx calls an upstream's answer done also if its connection has ended too early. */
static bool fetch_whole(const ngx_http_request_t *http) {
    const ngx_http_upstream_t *upstream = http->upstream;
    if (!upstream || !upstream->header_sent || http->header_only) return true;
    if (!upstream->buffering) return upstream->length == 0 || upstream->length == -1;
    const ngx_event_pipe_t *pipe = upstream->pipe;
    return pipe->upstream_done || (pipe->upstream_eof && pipe->length == -1);
}

static void fetch_add(mrb_state *mrb, mrb_value headers, const ngx_str_t *key, mrb_value value) {
    mrb_value name = mrb_str_new(mrb, (char *)key->data, key->len);
    ngx_strlow((u_char *)RSTRING_PTR(name), key->data, key->len);
    mrb_value values = mrb_hash_get(mrb, headers, name);
    if (mrb_array_p(values)) mrb_ary_push(mrb, values, value);
    else if (mrb_nil_p(values)) mrb_hash_set(mrb, headers, name, value);
    else mrb_hash_set(mrb, headers, name, mrb_assoc_new(mrb, values, value));
}

static void fetch_add_text(mrb_state *mrb, mrb_value headers, const char *name, ngx_str_t text) {
    ngx_str_t key = {strlen(name), (u_char *)name};
    if (text.len)
        fetch_add(mrb, headers, &key, mrb_str_new(mrb, (char *)text.data, text.len));
}

/* nginx has some headers as numbers. */
static mrb_value fetch_headers(mrb_state *mrb, ngx_http_headers_out_t *out) {
    mrb_value headers = mrb_hash_new(mrb);
    int arena = mrb_gc_arena_save(mrb);
    u_char text[NGX_OFF_T_LEN + sizeof "Mon, 28 Sep 1970 06:00:00 GMT"];
    fetch_add_text(mrb, headers, "content-type", out->content_type);
    if (out->content_length_n >= 0)
        fetch_add_text(mrb, headers, "content-length",
                (ngx_str_t){(size_t)(ngx_sprintf(text, "%O", out->content_length_n) - text), text});
    if (out->last_modified_time != -1 && !out->last_modified)
        fetch_add_text(mrb, headers, "last-modified",
                (ngx_str_t){(size_t)(ngx_http_time(text, out->last_modified_time) - text), text});
    for (ngx_list_part_t *part = &out->headers.part; part; part = part->next) {
        ngx_table_elt_t *lines = part->elts;
        for (ngx_uint_t i = 0; i < part->nelts; i++) {
            if (lines[i].hash)
                fetch_add(mrb, headers, &lines[i].key,
                        mrb_str_new(mrb, (char *)lines[i].value.data, lines[i].value.len));
            mrb_gc_arena_restore(mrb, arena);
        }
    }
    return headers;
}

typedef struct {
    fetch_t *fetch;
    ngx_int_t code;
    bool failed;
} fetch_done_t;

/* What the fiber gets: status, headers and body, or an error. */
static mrb_value fetch_answer(mrb_state *mrb, const fetch_t *fetch, const fetch_done_t *done) {
    ngx_http_request_t *http = fetch->http;
    const ngx_http_core_loc_conf_t *core =
            ngx_http_get_module_loc_conf(http, ngx_http_core_module);
    const gw_request_t *inner = ngx_http_get_module_ctx(http, ngx_http_godwit_module);
    ngx_buf_t *buffer = http->out ? http->out->buf : NULL;
    const char *path = (const char *)fetch->target.data;
    if (done->failed && http->header_sent && !(inner && inner->stream))
        return gw_vm_error("Error", "the answer of %s has more than %d bytes: raise nginx's "
                "subrequest_output_buffer_size in its location", path,
                (int)core->subrequest_output_buffer_size);
    if (done->failed || !fetch_whole(http))
        return gw_vm_error("ConnectionError", "the answer of %s has ended too early: see nginx's "
                "error log", path);
    size_t size = buffer ? (size_t)(buffer->last - buffer->pos) : 0;
    gw_vm_charge(size);
    mrb_value parts[3] = {
            mrb_fixnum_value(done->code > 0 ? done->code : (mrb_int)http->headers_out.status),
            fetch_headers(mrb, &http->headers_out),
            mrb_str_new(mrb, size ? (char *)buffer->pos : NULL, size)};
    /* For a small one nginx would search all that the pool has. */
    if (buffer && (size_t)(buffer->end - buffer->start) > http->pool->max)
        ngx_pfree(http->pool, buffer->start);
    return mrb_ary_new_from_values(mrb, 3, parts);
}

static mrb_value fetch_end_with(mrb_state *mrb, void *data) {
    fetch_done_t *done = data;
    fetch_end(done->fetch, fetch_answer(mrb, done->fetch, done));
    return mrb_nil_value();
}

/* The subrequest has ended, or nginx calls again: when it has made a page for a status, or has read
 * all of a file. What is returned, and `error`, would else close the client's connection. */
static ngx_int_t fetch_done(ngx_http_request_t *http, void *data, ngx_int_t code) {
    fetch_t *fetch = data;
    bool failed = code == NGX_ERROR || http->connection->error;
    fetch_done_t done = {fetch, code, failed};
    bool closes = code == NGX_HTTP_CLOSE || code == NGX_HTTP_REQUEST_TIME_OUT ||
            code == NGX_HTTP_CLIENT_CLOSED_REQUEST;
    bool page = code >= NGX_HTTP_SPECIAL_RESPONSE || code == NGX_HTTP_CREATED ||
            code == NGX_HTTP_NO_CONTENT;
    if (fetch->gone || (page && !closes) || (http->buffered && !failed)) return code;
    ngx_connection_t *connection = http->connection;
    connection->error = http->buffered = 0;
    /* Reading a file by threads has set it. */
    if (connection->write->timer_set && !connection->buffered && !http->main->buffered)
        ngx_del_timer(connection->write);
    if (fetch->ticket && !gw_vm_protect(fetch_end_with, &done) && fetch->ticket)
        fetch_end(fetch, gw_vm_no_memory());
    return NGX_OK;
}

static ngx_http_output_header_filter_pt fetch_next_filter;

/* A buffered answer would reach a subrequest in the background only when it is whole: it would go
 * through a file, and stop where `proxy_max_temp_file_size` forbids that. Caches need buffers. */
static ngx_int_t fetch_filter(ngx_http_request_t *http) {
    ngx_http_upstream_t *upstream = http->upstream;
    bool ours = http->post_subrequest && http->post_subrequest->handler == fetch_done;
    if (ours && upstream && !http->cache && !upstream->store) upstream->buffering = 0;
    return fetch_next_filter(http);
}

void gw_fetch_configure(void) {
    fetch_next_filter = ngx_http_top_header_filter;
    ngx_http_top_header_filter = fetch_filter;
}

/* nginx ends the main request. */
static void fetch_gone(void *data) {
    fetch_t *fetch = data;
    fetch->gone = true;
    if (!fetch->ticket) return;
    gw_wait_fail(fetch->request, "Cancelled", "the client has left");
    fetch_end(fetch, mrb_nil_value());
}

void gw_fetch_abort(gw_request_t *request) {
    while (!ngx_queue_empty(&request->fetches)) {
        fetch_t *fetch = ngx_queue_data(ngx_queue_head(&request->fetches), fetch_t, link);
        ngx_http_request_t *http = fetch->http;
        gw_request_t *inner = ngx_http_get_module_ctx(http, ngx_http_godwit_module);
        fetch_end(fetch, mrb_nil_value());
        if (http->upstream && http->upstream->cleanup) (*http->upstream->cleanup)(http);
        if (!inner || !inner->http) continue;
        gw_wait_fail(inner, "Cancelled", "the fetch has ended");
        gw_fetch_abort(inner);
        gw_response_end(inner, NGX_DONE);
    }
}

/* ---- the request ---- */

static void *fetch_got(void *memory) {
    if (!memory) gw_vm_raise("Error", "no memory for a fetch");
    return memory;
}

static ngx_str_t fetch_copy(fetch_t *fetch, mrb_value text) {
    size_t size = (size_t)RSTRING_LEN(text);
    ngx_str_t copy = {size, fetch_got(ngx_pnalloc(fetch->request->http->pool, size + 1))};
    *ngx_cpymem(copy.data, RSTRING_PTR(text), copy.len) = '\0';
    return copy;
}

static void fetch_line(fetch_t *fetch, ngx_str_t key, ngx_str_t value) {
    ngx_table_elt_t *line = &fetch->lines[fetch->count++];
    line->key = key;
    line->value = value;
    line->lowcase_key = fetch_got(ngx_pnalloc(fetch->request->http->pool, key.len));
    line->hash = ngx_hash_strlow(line->lowcase_key, key.data, key.len);
}

/* Those that nginx writes itself. */
static bool fetch_refuses(const ngx_table_elt_t *line) {
    static const char *const names[] = {"host", "content-length", "transfer-encoding", "connection",
            "keep-alive", "upgrade", "te", "expect"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (line->key.len == strlen(names[i]) &&
                !ngx_memcmp(line->lowcase_key, names[i], line->key.len))
            return true;
    return false;
}

static int fetch_header(mrb_state *mrb, mrb_value name, mrb_value value, void *data) {
    fetch_t *fetch = data;
    int arena = mrb_gc_arena_save(mrb);
    const char *wrong = gw_response_check_header(name, value);
    if (wrong) mrb_raise(mrb, E_ARGUMENT_ERROR, wrong);
    ngx_str_t key = fetch_copy(fetch, name);
    bool cookie = key.len == 6 && !ngx_strncasecmp(key.data, (u_char *)"cookie", 6);
    if (mrb_array_p(value))
        value = mrb_ary_join(mrb, value, mrb_str_new_cstr(mrb, cookie ? "; " : ", "));
    fetch_line(fetch, key, fetch_copy(fetch, mrb_obj_as_string(mrb, value)));
    const ngx_table_elt_t *line = &fetch->lines[fetch->count - 1];
    if (fetch_refuses(line))
        mrb_raisef(mrb, E_ARGUMENT_ERROR, "nginx writes the header %v itself", name);
    for (ngx_uint_t i = 0; i < fetch->count - 1; i++)
        if (fetch->lines[i].key.len == key.len &&
                !ngx_memcmp(fetch->lines[i].lowcase_key, line->lowcase_key, key.len))
            mrb_raisef(mrb, E_ARGUMENT_ERROR, "the header %v occurs twice: give an Array", name);
    mrb_gc_arena_restore(mrb, arena);
    return 0;
}

/* Only the given headers, the client's Host, and Content-Length. */
static void fetch_lines(mrb_state *mrb, fetch_t *fetch, mrb_value headers) {
    const ngx_http_request_t *http = fetch->request->http;
    u_char text[NGX_OFF_T_LEN];
    fetch->lines = fetch_got(ngx_pcalloc(http->pool,
            ((size_t)mrb_hash_size(mrb, headers) + 2) * sizeof *fetch->lines));
    mrb_hash_foreach(mrb, mrb_hash_ptr(headers), fetch_header, fetch);
    if (http->headers_in.host)
        fetch_line(fetch, http->headers_in.host->key, http->headers_in.host->value);
    if (fetch->size < 0) return;
    mrb_value size = mrb_str_new(mrb, (char *)text,
            (size_t)(ngx_sprintf(text, "%O", fetch->size) - text));
    fetch_line(fetch, (ngx_str_t)ngx_string("Content-Length"), fetch_copy(fetch, size));
}

/* A buffer without bytes would be an error in nginx's log. */
static void fetch_body(fetch_t *fetch, mrb_value text) {
    ngx_pool_t *pool = fetch->request->http->pool;
    fetch->size = mrb_nil_p(text) ? -1 : (off_t)RSTRING_LEN(text);
    if (fetch->size < 0) return;
    fetch->body = fetch_got(ngx_pcalloc(pool, sizeof *fetch->body));
    ngx_buf_t *buffer = fetch_got(ngx_create_temp_buf(pool, (size_t)fetch->size + 1));
    ngx_chain_t *chain = fetch_got(ngx_alloc_chain_link(pool));
    buffer->last = ngx_cpymem(buffer->last, RSTRING_PTR(text), (size_t)fetch->size);
    *chain = (ngx_chain_t){buffer, NULL};
    if (fetch->size) fetch->body->bufs = chain;
}

static ngx_uint_t fetch_method(const ngx_str_t *method) {
    static const struct {
        const char *name;
        ngx_uint_t number;
    } known[] = {{"GET", NGX_HTTP_GET}, {"HEAD", NGX_HTTP_HEAD}, {"POST", NGX_HTTP_POST},
            {"PUT", NGX_HTTP_PUT}, {"DELETE", NGX_HTTP_DELETE}, {"PATCH", NGX_HTTP_PATCH},
            {"OPTIONS", NGX_HTTP_OPTIONS}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcmp((char *)method->data, known[i].name)) return known[i].number;
    return NGX_HTTP_UNKNOWN;
}

/* Before nginx runs it. The variables are its own: they depend on its headers. */
static void fetch_prepare(fetch_t *fetch, ngx_http_request_t *http) {
    const ngx_http_request_t *parent = fetch->request->http;
    ngx_http_core_main_conf_t *core = ngx_http_get_module_main_conf(http, ngx_http_core_module);
    ngx_http_headers_in_t *in = &http->headers_in;
    fetch->http = http;
    http->subrequests = parent->subrequests - 1;
    http->method = fetch_method(&fetch->method);
    http->method_name = fetch->method;
    http->header_only = http->method == NGX_HTTP_HEAD;
    http->unparsed_uri = fetch->target;
    http->request_body = fetch->body;
    http->variables = fetch->variables;
    gw_env_share_id(parent, http);
    ngx_memzero(in, sizeof *in);
    in->server = parent->headers_in.server;
    in->content_length_n = fetch->size;
    in->keep_alive_n = -1;
    in->headers = (ngx_list_t){.part = {fetch->lines, fetch->count, NULL},
            .size = sizeof *fetch->lines, .nalloc = fetch->count, .pool = http->pool};
    in->headers.last = &in->headers.part;
    for (ngx_uint_t i = 0; i < fetch->count; i++) {
        ngx_table_elt_t *line = &fetch->lines[i];
        ngx_http_header_t *known = ngx_hash_find(
                &core->headers_in_hash, line->hash, line->lowcase_key, line->key.len);
        if (!known) continue;
        if (known->offset == offsetof(ngx_http_headers_in_t, host)) in->host = line;
        else known->handler(http, line, known->offset);
    }
}

static void fetch_start(ngx_event_t *event) {
    fetch_t *fetch = gw_of(event, fetch_t, start);
    ngx_http_run_posted_requests(fetch->http->connection);
}

static fetch_t *fetch_make(mrb_state *mrb, gw_request_t *request) {
    if (!request || !request->http)
        gw_vm_raise("Error", "Edge.fetch needs an open request of nginx: an app's file has none, "
                             "nor has a request whose client has its answer or has left");
    if (!request->http->subrequests)
        gw_vm_raise("Error", "too many fetches within fetches: a location fetches itself");
    ngx_http_core_main_conf_t *core =
            ngx_http_get_module_main_conf(request->http, ngx_http_core_module);
    ngx_http_variable_value_t *variables = fetch_got(ngx_pcalloc(
            request->http->pool, core->variables.nelts * sizeof *variables));
    ngx_http_cleanup_t *cleanup =
            fetch_got(ngx_http_cleanup_add(request->http, sizeof(fetch_t)));
    fetch_t *fetch = cleanup->data;
    ngx_memzero(fetch, sizeof *fetch);
    cleanup->handler = fetch_gone;
    fetch->request = request;
    fetch->variables = variables;
    fetch->post = (ngx_http_post_subrequest_t){fetch_done, fetch};
    gw_vm_event(&fetch->start, fetch_start);
    return fetch;
}

/* Edge._fetch(target, method, headers, body): the fiber is to wait. */
static mrb_value fetch_begin(mrb_state *mrb, mrb_value self) {
    mrb_value target, method, headers, body;
    mrb_get_args(mrb, "SSHS!", &target, &method, &headers, &body);
    fetch_t *fetch = fetch_make(mrb, gw_vm.current);
    ngx_str_t path = fetch->target = fetch_copy(fetch, target), query = ngx_null_string;
    ngx_uint_t flags = 0;
    for (size_t i = 0; i < path.len; i++)
        if (path.data[i] <= ' ' || path.data[i] == 0x7f)
            mrb_raise(mrb, E_ARGUMENT_ERROR,
                    "a path has no spaces and no control characters: write %XX");
    if (!path.len || path.data[0] != '/' ||
            ngx_http_parse_unsafe_uri(fetch->request->http, &path, &query, &flags) != NGX_OK)
        mrb_raise(mrb, E_ARGUMENT_ERROR, "a path begins with / and has no /../ and no %00");
    fetch->method = fetch_copy(fetch, method);
    fetch_body(fetch, body);
    fetch_lines(mrb, fetch, headers);
    fetch->ticket = gw_wait_begin(mrb, NGX_TIMER_INFINITE);
    gw_wait_hold(fetch->ticket, NULL, NULL);
    ngx_queue_insert_tail(&fetch->request->fetches, &fetch->link);
    /* That of the main request, since one whose own answer stays in memory can have none. */
    if (ngx_http_subrequest(fetch->request->http->main, &path, &query, &fetch->http, &fetch->post,
                NGX_HTTP_SUBREQUEST_IN_MEMORY | NGX_HTTP_SUBREQUEST_BACKGROUND) != NGX_OK) {
        fetch_end(fetch, gw_vm_error("Error", "nginx makes no subrequest: see its log"));
        return mrb_nil_value();
    }
    fetch_prepare(fetch, fetch->http);
    gw_post(&fetch->start);
    return mrb_nil_value();
}

void gw_fetch_init(mrb_state *mrb) {
    mrb_define_class_method(mrb, gw_vm.edge, "_fetch", fetch_begin, MRB_ARGS_REQ(4));
}
