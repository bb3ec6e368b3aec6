/* The env of a request: a Hash like Rack's. Frequent names and texts are made once for a worker. */
#include "edge.h"
#include <sys/random.h>

enum { ENV_NAMES = 128, ENV_NAME_MOST = 48, ENV_PAIRS = 24, ENV_TRIES = 8, ENV_IDS = 256 };

static const char *const env_texts[] = {"REQUEST_METHOD", "SCRIPT_NAME", "PATH_INFO",
        "QUERY_STRING", "REQUEST_URI", "SERVER_NAME", "SERVER_PORT", "SERVER_PROTOCOL",
        "SERVER_SOFTWARE", "REMOTE_ADDR", "rack.url_scheme", "rack.input", "edge.request_id", "",
        "GET", "HTTP/1.1", "http", "https", "/", NGINX_VER};
enum {
    ENV_METHOD, ENV_SCRIPT, ENV_PATH, ENV_QUERY, ENV_URI, ENV_NAME, ENV_PORT, ENV_PROTOCOL,
    ENV_SOFTWARE, ENV_ADDRESS, ENV_SCHEME, ENV_INPUT, ENV_ID, ENV_EMPTY, ENV_GET,
    ENV_HTTP11, ENV_HTTP, ENV_HTTPS, ENV_SLASH, ENV_NGINX, ENV_TEXTS
};

static mrb_value env_text[ENV_TEXTS], env_input, env_no_input;
static ngx_int_t env_id_index = NGX_ERROR;
/* Names of headers that have come, by nginx's hash of them. */
static struct {
    u_char lower[ENV_NAME_MOST];
    size_t size; /* 0: unused */
    mrb_value name;
    mrb_int request; /* the last one that had it */
} env_names[ENV_NAMES];
static mrb_int env_requests;

static mrb_value env_string(mrb_state *mrb, ngx_str_t text) {
    return mrb_str_new(mrb, (const char *)text.data, text.len);
}

/* HTTP_ and the name; CONTENT_TYPE and CONTENT_LENGTH as they are. */
static mrb_value env_name(mrb_state *mrb, const ngx_str_t *key) {
    mrb_value name = mrb_str_new_lit(mrb, "HTTP_");
    mrb_str_cat(mrb, name, (const char *)key->data, key->len);
    char *at = RSTRING_PTR(name) + 5;
    for (size_t i = 0; i < key->len; i++)
        at[i] = at[i] == '-' ? '_' : (char)ngx_toupper(at[i]);
    if ((key->len == 12 && !memcmp(at, "CONTENT_TYPE", 12)) ||
            (key->len == 14 && !memcmp(at, "CONTENT_LENGTH", 14)))
        return mrb_str_new(mrb, at, key->len);
    return name;
}

/* The header's index in env_names; -1: it has no room there. */
static int env_find(mrb_state *mrb, const ngx_table_elt_t *header) {
    size_t size = header->key.len;
    ngx_uint_t at = header->hash % ENV_NAMES;
    if (size > ENV_NAME_MOST || !size || !header->lowcase_key) return -1;
    for (int tries = 0; tries < ENV_TRIES; tries++, at = (at + 1) % ENV_NAMES) {
        if (!env_names[at].size) {
            env_names[at].name = gw_vm_keep(env_name(mrb, &header->key));
            ngx_memcpy(env_names[at].lower, header->lowcase_key, size);
            env_names[at].size = size;
            return (int)at;
        }
        if (env_names[at].size == size &&
                !ngx_memcmp(env_names[at].lower, header->lowcase_key, size))
            return (int)at;
    }
    return -1;
}

static void env_join(mrb_state *mrb, mrb_value env, mrb_value name, ngx_str_t value) {
    bool cookie = RSTRING_LEN(name) == 11 && !memcmp(RSTRING_PTR(name), "HTTP_COOKIE", 11);
    mrb_value joined = mrb_str_dup(mrb, mrb_hash_get(mrb, env, name));
    mrb_str_cat(mrb, joined, cookie ? "; " : ", ", 2);
    mrb_hash_set(mrb, env, name, mrb_str_cat(mrb, joined, (const char *)value.data, value.len));
}

static void env_headers(mrb_state *mrb, mrb_value env, ngx_http_request_t *http) {
    env_requests++;
    for (ngx_list_part_t *part = &http->headers_in.headers.part; part; part = part->next) {
        ngx_table_elt_t *headers = part->elts;
        for (ngx_uint_t i = 0; i < part->nelts; i++) {
            int arena = mrb_gc_arena_save(mrb), at = env_find(mrb, &headers[i]);
            mrb_value name = at < 0 ? env_name(mrb, &headers[i].key) : env_names[at].name;
            bool repeated = at < 0 ? mrb_hash_key_p(mrb, env, name)
                                   : env_names[at].request == env_requests;
            if (at >= 0) env_names[at].request = env_requests;
            if (repeated) env_join(mrb, env, name, headers[i].value);
            else mrb_hash_set(mrb, env, name, env_string(mrb, headers[i].value));
            mrb_gc_arena_restore(mrb, arena);
        }
    }
}

/* Also what nginx has put into a file. */
static mrb_value env_body(mrb_state *mrb, ngx_http_request_t *http) {
    gw_vm_charge((size_t)ngx_max(http->headers_in.content_length_n, 0));
    mrb_value body = mrb_str_new(mrb, NULL, 0);
    for (ngx_chain_t *link = http->request_body->bufs; link; link = link->next) {
        ngx_buf_t *buffer = link->buf;
        if (!buffer->in_file) {
            mrb_str_cat(mrb, body, (const char *)buffer->pos, (size_t)(buffer->last - buffer->pos));
            continue;
        }
        mrb_int before = RSTRING_LEN(body);
        size_t size = (size_t)(buffer->file_last - buffer->file_pos);
        mrb_str_resize(mrb, body, before + (mrb_int)size);
        if (ngx_read_file(buffer->file, (u_char *)RSTRING_PTR(body) + before, size,
                    buffer->file_pos) != (ssize_t)size)
            gw_vm_raise("Error", "the file with the request's body cannot be read");
    }
    return body;
}

/* Of the Host header, else nginx's server_name, else the local address: Rack demands a name. */
static mrb_value env_server_name(mrb_state *mrb, ngx_http_request_t *http) {
    u_char address[NGX_SOCKADDR_STRLEN];
    ngx_http_core_srv_conf_t *server = ngx_http_get_module_srv_conf(http, ngx_http_core_module);
    ngx_str_t name = http->headers_in.server.len ? http->headers_in.server : server->server_name;
    if (name.len) return env_string(mrb, name);
    name = (ngx_str_t){sizeof address, address};
    bool known = ngx_connection_local_sockaddr(http->connection, &name, 0) == NGX_OK;
    return known ? env_string(mrb, name) : env_text[ENV_EMPTY];
}

static mrb_value env_server_port(mrb_state *mrb, ngx_http_request_t *http) {
    in_port_t port = 0;
    if (ngx_connection_local_sockaddr(http->connection, NULL, 0) == NGX_OK)
        port = ngx_inet_get_port(http->connection->local_sockaddr);
    return mrb_integer_to_str(mrb, mrb_fixnum_value(port), 10);
}

/* The location's name is SCRIPT_NAME if the path begins with it as whole segments. */
static void env_paths(
        mrb_state *mrb, mrb_value env, ngx_http_request_t *http, const gw_app_t *app) {
    ngx_str_t path = http->uri;
    size_t size = app->script.len;
    bool below = size && path.len >= size && !ngx_memcmp(path.data, app->script.data, size) &&
            (path.len == size || path.data[size] == '/');
    if (below) path = (ngx_str_t){path.len - size, path.data + size};
    mrb_hash_set(mrb, env, env_text[ENV_SCRIPT], below ? app->script_name : env_text[ENV_EMPTY]);
    mrb_hash_set(mrb, env, env_text[ENV_PATH],
            path.len ? env_string(mrb, path) : env_text[ENV_SLASH]);
}

/* nginx makes each $request_id with a call of libcrypto and a system call. Here many take one call
 * of the kernel, unless nginx has made the id already. */
static void env_make_id(gw_request_t *request, ngx_http_variable_value_t *value) {
    static u_char random[ENV_IDS][sizeof request->id_text / 2];
    static size_t left;
    if (value->valid || value->not_found) return;
    if (!left && getrandom(random, sizeof random, 0) == sizeof random) left = ENV_IDS;
    if (!left) return;
    ngx_hex_dump(request->id_text, random[--left], sizeof random[0]);
    value->data = request->id_text;
    value->len = sizeof request->id_text;
    value->valid = 1;
}

/* A copy: the log has it also when nginx no longer has the request. */
static void env_note_id(gw_request_t *request) {
    env_make_id(request, &request->http->variables[env_id_index]);
    ngx_http_variable_value_t *value =
            ngx_http_get_indexed_variable(request->http, env_id_index);
    if (!value || value->not_found) return;
    request->id = (ngx_str_t){ngx_min(value->len, sizeof request->id_text), request->id_text};
    if (value->data != request->id_text)
        ngx_memcpy(request->id_text, value->data, request->id.len);
}

void gw_env_set_index(ngx_int_t request_id) { env_id_index = request_id; }

void gw_env_share_id(const ngx_http_request_t *http, ngx_http_request_t *subrequest) {
    subrequest->variables[env_id_index] = http->variables[env_id_index];
}

mrb_value gw_env_make(mrb_state *mrb, gw_request_t *request) {
    ngx_http_request_t *http = request->http;
    mrb_value env = mrb_hash_new_capa(mrb, ENV_PAIRS);
    int arena = mrb_gc_arena_save(mrb);
    bool tls = false, body = http->request_body && http->request_body->bufs;
#if (NGX_HTTP_SSL)
    tls = http->connection->ssl != NULL;
#endif
    env_note_id(request);
#define ENV_SET(key, value) mrb_hash_set(mrb, env, env_text[key], value)
    ENV_SET(ENV_METHOD, http->method == NGX_HTTP_GET ? env_text[ENV_GET]
                                                     : env_string(mrb, http->method_name));
    env_paths(mrb, env, http, gw_app_at(request->app));
    ENV_SET(ENV_QUERY, http->args.len ? env_string(mrb, http->args) : env_text[ENV_EMPTY]);
    ENV_SET(ENV_URI, env_string(mrb, http->unparsed_uri));
    ENV_SET(ENV_NAME, env_server_name(mrb, http));
    ENV_SET(ENV_PORT, env_server_port(mrb, http));
    ENV_SET(ENV_PROTOCOL, http->http_version == NGX_HTTP_VERSION_11
                    ? env_text[ENV_HTTP11]
                    : env_string(mrb, http->http_protocol));
    ENV_SET(ENV_SOFTWARE, env_text[ENV_NGINX]);
    ENV_SET(ENV_ADDRESS, env_string(mrb, http->connection->addr_text));
    ENV_SET(ENV_SCHEME, env_text[tls ? ENV_HTTPS : ENV_HTTP]);
    ENV_SET(ENV_ID, env_string(mrb, request->id));
    mrb_gc_arena_restore(mrb, arena);
    env_headers(mrb, env, http);
    mrb_value text = body ? env_body(mrb, http) : mrb_nil_value();
    ENV_SET(ENV_INPUT, body ? mrb_obj_new(mrb, mrb_class_ptr(env_input), 1, &text) : env_no_input);
    mrb_gc_arena_restore(mrb, arena);
    return env;
}

/* Edge._path(text): for tests of apps, a path decoded as nginx does; nil: it would answer 400. */
static mrb_value env_decode_path(mrb_state *mrb, mrb_value self) {
    ngx_connection_t connection = {.log = ngx_cycle->log};
    ngx_http_request_t http = {.connection = &connection};
    mrb_value path;
    mrb_get_args(mrb, "S", &path);
    mrb_value decoded = mrb_str_new(mrb, NULL, (size_t)RSTRING_LEN(path) + 1);
    http.uri_start = (u_char *)RSTRING_PTR(path);
    http.uri_end = http.uri_start + RSTRING_LEN(path); /* it has NUL */
    http.uri.data = (u_char *)RSTRING_PTR(decoded);
    for (const u_char *at = http.uri_start; at < http.uri_end; at++)
        if (*at <= ' ' || *at == 0x7f) return mrb_nil_value();
    if (ngx_http_parse_complex_uri(&http, 1) != NGX_OK) return mrb_nil_value();
    return mrb_str_resize(mrb, decoded, (mrb_int)http.uri.len);
}

void gw_env_init(mrb_state *mrb) {
    for (int i = 0; i < ENV_TEXTS; i++)
        env_text[i] = gw_vm_keep(mrb_str_new_cstr(mrb, env_texts[i]));
    mrb_value edge = mrb_obj_value(gw_vm.edge);
    env_input = mrb_const_get(mrb, edge, mrb_intern_lit(mrb, "Input"));
    env_no_input = mrb_const_get(mrb, env_input, mrb_intern_lit(mrb, "EMPTY"));
    mrb_define_class_method(mrb, gw_vm.edge, "_path", env_decode_path, MRB_ARGS_REQ(1));
}
