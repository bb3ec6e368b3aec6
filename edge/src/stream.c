/* Streams: answers that an app's block writes text by text. A write that nginx cannot send at once
 * waits until it can, so nginx has at most one text of each. */
#include "edge.h"

enum { STREAM_TICK = 1000 }; /* milliseconds */

struct gw_stream {
    gw_request_t *request;
    ngx_queue_t link; /* of stream_open, until the block or the request has ended */
    mrb_int number;
    ngx_buf_t text;   /* what nginx has not sent; `start` is owned, of ngx_alloc */
    bool cancelled;   /* since the worker ends */
};

static ngx_queue_t stream_open;
static ngx_event_t stream_timer; /* keeps a worker that ends until its streams have ended */
static mrb_int stream_last;

/* Edge.fetch has its answer in memory. A part of a page (such as one of SSI) waits for its turn:
 * then it is the connection's data. */
static bool stream_unsent(const ngx_http_request_t *http) {
    const ngx_connection_t *connection = http->connection;
    if (http->subrequest_in_memory) return false;
    return http->buffered || http->postponed || (connection->data == http && connection->buffered);
}

static void stream_forget(gw_stream_t *stream) {
    if (stream->text.start) ngx_free(stream->text.start);
    stream->text.start = NULL;
}

/* Gives nginx the chain, or with NULL tries again to send what it has. False: it cannot send. */
static bool stream_send(gw_stream_t *stream, ngx_chain_t *chain) {
    ngx_http_request_t *http = stream->request->http;
    ngx_event_t *write = http->connection->write;
    ngx_http_core_loc_conf_t *core = ngx_http_get_module_loc_conf(http, ngx_http_core_module);
    if (ngx_http_output_filter(http, chain) == NGX_ERROR) return false;
    bool unsent = stream_unsent(http);
    if (!unsent) stream_forget(stream);
    if (http->connection->data != http) return true;
    if (!write->delayed && unsent) ngx_add_timer(write, core->send_timeout);
    else if (!write->delayed && write->timer_set) ngx_del_timer(write);
    return ngx_handle_write_event(write, unsent ? core->send_lowat : 0) == NGX_OK;
}

/* Beside other requests of a connection of HTTP/2, nginx would send RST_STREAM with the next frame
 * of one of them. */
static void stream_reset(ngx_http_request_t *http) {
#if (NGX_HTTP_V2)
    if (http->stream) gw_post(http->stream->connection->connection->write);
#endif
}

static mrb_value stream_wake(mrb_state *mrb, void *data) {
    gw_wait_written(data, mrb_nil_value());
    return mrb_nil_value();
}

static void stream_writable(ngx_http_request_t *http) {
    gw_request_t *request = ngx_http_get_module_ctx(http, ngx_http_godwit_module);
    ngx_connection_t *connection = http->connection;
    if (connection->write->timedout) {
        ngx_log_error(NGX_LOG_INFO, connection->log, NGX_ETIMEDOUT,
                "godwit: the client of a stream takes nothing (send_timeout)");
        connection->timedout = 1;
        stream_reset(http);
        ngx_http_finalize_request(http, NGX_HTTP_REQUEST_TIME_OUT);
    } else if (!stream_unsent(http)) {
        return;
    } else if (!stream_send(request->stream, NULL)) {
        ngx_http_finalize_request(http, NGX_ERROR);
    } else if (!stream_unsent(http)) {
        gw_vm_protect(stream_wake, request);
    }
}

static void stream_tick(ngx_event_t *event) {
    ngx_queue_t *at;
    for (at = ngx_queue_head(&stream_open); at != &stream_open; at = ngx_queue_next(at)) {
        gw_stream_t *stream = ngx_queue_data(at, gw_stream_t, link);
        if (!ngx_exiting || stream->cancelled) continue;
        stream->cancelled = true;
        gw_wait_fail(stream->request, "Cancelled", "the worker ends");
    }
    if (!ngx_queue_empty(&stream_open)) ngx_add_timer(event, STREAM_TICK);
}

static void stream_close(gw_stream_t *stream) {
    ngx_queue_remove(&stream->link);
    ngx_queue_init(&stream->link);
    if (ngx_exiting && ngx_queue_empty(&stream_open) && stream_timer.timer_set)
        ngx_del_timer(&stream_timer);
}

void gw_stream_gone(gw_stream_t *stream) {
    stream_close(stream);
    stream_forget(stream);
}

/* ---- for Ruby ---- */

/* nginx has found in a write that the client has left. */
static mrb_noreturn void stream_break(gw_request_t *request) {
    stream_close(request->stream);
    gw_response_end(request, NGX_ERROR);
    gw_wait_fail(request, "Cancelled", "the client has left");
    request->failed = NULL; /* it is raised now */
    gw_vm_raise("Cancelled", "the client has left");
}

/* Edge._stream_begin(status, headers): sends them. nil: there is no body to write. */
static mrb_value stream_begin(mrb_state *mrb, mrb_value self) {
    mrb_value status, headers;
    mrb_get_args(mrb, "oo", &status, &headers);
    gw_request_t *request = gw_vm.current;
    ngx_http_request_t *http = request->http;
    if (!http) return mrb_nil_value(); /* it has an answer, or the client has left */
    if (gw_response_head(mrb, status, headers) != GW_NO_LENGTH)
        gw_vm_raise("ResponseError", "a stream has no Content-Length: leave it out");
    gw_stream_t *stream = ngx_calloc(sizeof *stream, ngx_cycle->log);
    if (!stream) gw_vm_raise("Error", "no memory for a stream");
    ngx_int_t code = ngx_http_send_header(http);
    if (code == NGX_ERROR || code > NGX_OK || http->header_only) {
        ngx_free(stream);
        gw_response_end(request, code);
        return mrb_nil_value();
    }
    if (request->timer.timer_set) ngx_del_timer(&request->timer);
    request->stream = stream;
    stream->request = request;
    stream->number = ++stream_last;
    ngx_queue_insert_tail(&stream_open, &stream->link);
    if (!stream_timer.timer_set) ngx_add_timer(&stream_timer, STREAM_TICK);
    http->write_event_handler = stream_writable;
    stream->text.flush = 1;
    ngx_chain_t chain = {&stream->text, NULL};
    ngx_connection_t *connection = http->connection;
    if (!stream_send(stream, &chain)) stream_break(request);
    ngx_http_run_posted_requests(connection); /* parts of the page before it: add_before_body */
    return mrb_fixnum_value(stream->number);
}

static gw_stream_t *stream_own(mrb_state *mrb, mrb_int number) {
    gw_stream_t *stream = gw_vm.current ? gw_vm.current->stream : NULL;
    if (!stream || stream->number != number)
        gw_vm_raise("Error", "only a stream's own block may write to it: use a Feed for others");
    gw_wait_check(mrb);
    if (!stream->request->http || stream->cancelled)
        gw_vm_raise("Cancelled", "%s",
                stream->cancelled ? "the worker ends" : "the client has left");
    return stream;
}

/* Edge._stream_write(number, text): false: nginx has not sent an earlier text, and the fiber is to
 * wait. Without a text: whether all is sent. */
static mrb_value stream_write(mrb_state *mrb, mrb_value self) {
    mrb_int number;
    mrb_value text;
    mrb_get_args(mrb, "io", &number, &text);
    if (!mrb_nil_p(text) && !mrb_string_p(text))
        mrb_raise(mrb, E_TYPE_ERROR, "a stream takes a String");
    gw_stream_t *stream = stream_own(mrb, number);
    if (stream_unsent(stream->request->http)) {
        gw_wait_write(mrb);
        return mrb_false_value();
    }
    size_t size = mrb_nil_p(text) ? 0 : (size_t)RSTRING_LEN(text);
    if (!size) return mrb_true_value();
    ngx_buf_t *buffer = &stream->text;
    stream_forget(stream);
    ngx_memzero(buffer, sizeof *buffer);
    buffer->start = buffer->pos = ngx_alloc(size, ngx_cycle->log);
    if (!buffer->start) gw_vm_raise("Error", "no memory for %d bytes of a stream", (int)size);
    buffer->last = buffer->end = ngx_cpymem(buffer->start, RSTRING_PTR(text), size);
    buffer->temporary = buffer->flush = 1;
    ngx_chain_t chain = {buffer, NULL};
    if (!stream_send(stream, &chain)) stream_break(stream->request);
    return mrb_true_value();
}

/* Edge._stream_end(whole): a client sees that an answer is not whole, as it has no last chunk. */
static mrb_value stream_end(mrb_state *mrb, mrb_value self) {
    mrb_bool whole;
    mrb_get_args(mrb, "b", &whole);
    gw_request_t *request = gw_vm.current;
    if (!request->http) return mrb_nil_value(); /* the client has left */
    stream_close(request->stream);
    if (!whole) stream_reset(request->http);
    gw_response_end(request,
            whole ? ngx_http_send_special(request->http, NGX_HTTP_LAST) : NGX_ERROR);
    return mrb_nil_value();
}

/* Edge._stream_number: of the request that runs; 0: it has no stream. */
static mrb_value stream_number(mrb_state *mrb, mrb_value self) {
    gw_stream_t *stream = gw_vm.current ? gw_vm.current->stream : NULL;
    return mrb_fixnum_value(stream ? stream->number : 0);
}

/* Edge._stream_stop(number, error): a write that waits raises it. */
static mrb_value stream_stop(mrb_state *mrb, mrb_value self) {
    mrb_int number;
    mrb_value error;
    ngx_queue_t *at;
    mrb_get_args(mrb, "io", &number, &error);
    for (at = ngx_queue_head(&stream_open); at != &stream_open; at = ngx_queue_next(at)) {
        gw_stream_t *stream = ngx_queue_data(at, gw_stream_t, link);
        if (stream->number == number) gw_wait_written(stream->request, error);
    }
    return mrb_nil_value();
}

void gw_stream_init(mrb_state *mrb) {
    ngx_queue_init(&stream_open);
    gw_vm_event(&stream_timer, stream_tick);
    mrb_define_class_method(mrb, gw_vm.edge, "_stream_begin", stream_begin, MRB_ARGS_REQ(2));
    mrb_define_class_method(mrb, gw_vm.edge, "_stream_write", stream_write, MRB_ARGS_REQ(2));
    mrb_define_class_method(mrb, gw_vm.edge, "_stream_end", stream_end, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, gw_vm.edge, "_stream_number", stream_number, MRB_ARGS_NONE());
    mrb_define_class_method(mrb, gw_vm.edge, "_stream_stop", stream_stop, MRB_ARGS_REQ(2));
}
