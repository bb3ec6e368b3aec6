/* Edge::Redis: one pipelined connection of hiredis on nginx's events. hiredis calls `cleanup` at
 * each end of a connection; 0.14 calls back all commands without a reply before that, 1.2 after. */
#include "edge.h"
#include <hiredis/async.h>
#include <hiredis/hiredis.h>
#include <netdb.h>

enum { REDIS_PAUSE = 50, REDIS_PAUSE_MOST = 2000 }; /* milliseconds */

typedef struct {
    redisAsyncContext *context;   /* NULL: no connection, and none is being made */
    ngx_connection_t *connection; /* its descriptor on the loop; hiredis owns the descriptor */
    ngx_event_t flush, broken, again;
    ngx_queue_t waiting;          /* commands for a connection that is being made */
    char *host, *user, *password; /* a host with a slash is a unix socket; owned */
    int port, database;
    ngx_msec_t timeout, pause;
    unsigned greetings; /* replies to AUTH and SELECT that have not come */
    bool ready, writes, ends;
    char error[256]; /* the place, and from `reason` on why there is no connection */
    size_t reason;
} redis_t;

/* A command in Redis' format that waits for a connection. */
typedef struct {
    ngx_queue_t link;
    gw_ticket_t *ticket;
    char *bytes; /* of hiredis */
    int size;
} redis_command_t;

static void redis_connect(redis_t *redis);

/* ---- events ---- */

static void redis_io(ngx_event_t *event) {
    redis_t *redis = ((ngx_connection_t *)event->data)->data;
    if (event->write) redisAsyncHandleWrite(redis->context);
    else redisAsyncHandleRead(redis->context);
}

/* All commands of the loop's turn leave in one write. */
static void redis_flush(ngx_event_t *event) {
    redis_t *redis = gw_of(event, redis_t, flush);
    redis->writes = true;
    redisAsyncHandleWrite(redis->context);
    redis->writes = false;
}

static void redis_break(ngx_event_t *event) {
    redisAsyncFree(gw_of(event, redis_t, broken)->context);
}

static void redis_again(ngx_event_t *event) { redis_connect(gw_of(event, redis_t, again)); }

/* The read event is always on, and level-triggered: hiredis reads 16 KiB a call. */
static void redis_add_read(void *data) {}

static void redis_add_write(void *data) {
    redis_t *redis = data;
    ngx_event_t *write = redis->connection->write;
    if (redis->context->c.flags & REDIS_CONNECTED && !redis->writes) gw_post(&redis->flush);
    else if (!write->active) ngx_add_event(write, NGX_WRITE_EVENT, NGX_LEVEL_EVENT);
}

static void redis_delete_write(void *data) {
    ngx_event_t *write = ((redis_t *)data)->connection->write;
    if (write->active) ngx_del_event(write, NGX_WRITE_EVENT, 0);
}

/* ---- replies ---- */

static mrb_value redis_value(mrb_state *mrb, const redisReply *reply) {
    switch (reply->type) {
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
        gw_vm_charge((size_t)reply->len);
        return mrb_str_new(mrb, reply->str, (size_t)reply->len);
    case REDIS_REPLY_INTEGER: return mrb_int_value(mrb, (mrb_int)reply->integer);
    case REDIS_REPLY_ERROR: return gw_vm_error("CommandError", "%s", reply->str);
    case REDIS_REPLY_ARRAY: {
        mrb_value array = mrb_ary_new_capa(mrb, (mrb_int)reply->elements);
        int arena = mrb_gc_arena_save(mrb);
        for (size_t i = 0; i < reply->elements; i++) {
            mrb_ary_push(mrb, array, redis_value(mrb, reply->element[i]));
            mrb_gc_arena_restore(mrb, arena);
        }
        return array;
    }
    default: return mrb_nil_value();
    }
}

typedef struct {
    gw_ticket_t *ticket;
    const redisReply *reply; /* NULL: none comes */
    const char *error;
} redis_end_t;

static mrb_value redis_finish(mrb_state *mrb, void *data) {
    redis_end_t *end = data;
    gw_wait_end(end->ticket, end->reply ? redis_value(mrb, end->reply)
                                        : gw_vm_error("ConnectionError", "%s", end->error));
    return mrb_nil_value();
}

static void redis_end(redis_t *redis, gw_ticket_t *ticket, const redisReply *reply) {
    redis_end_t end = {ticket, reply, redis->error};
    if (!redis->ends && !gw_vm_protect(redis_finish, &end)) gw_wait_end(ticket, gw_vm_no_memory());
}

static void redis_explain(redis_t *redis, const char *reason) {
    snprintf(redis->error + redis->reason, sizeof redis->error - redis->reason, "%s", reason);
}

/* The connection ends. A reason that is known stays. */
static void redis_explain_end(redis_t *redis, const char *reason) {
    if (redis->error[redis->reason]) return;
    redis_explain(redis, *reason ? reason : "the connection has closed");
}

static void redis_reply(redisAsyncContext *context, void *reply, void *data) {
    redis_t *redis = context->data;
    if (!reply) redis_explain_end(redis, context->errstr);
    redis_end(redis, data, reply);
}

/* The time of a command is over: so are the replies behind it late. */
static mrb_value redis_late(void *data) {
    redis_t *redis = data;
    redis_explain(redis, redis->ready ? "no answer in time" : "no connection in time");
    mrb_value error = gw_vm_error(
            redis->ready ? "TimeoutError" : "ConnectionError", "%s", redis->error);
    if (redis->ready) redis_explain(redis, "an earlier command had no answer in time");
    gw_post(&redis->broken);
    return error;
}

/* ---- the connection ---- */

/* Sends the commands that wait for a connection, or ends them if there is none. */
static void redis_empty(redis_t *redis) {
    while (!ngx_queue_empty(&redis->waiting)) {
        redis_command_t *command =
                ngx_queue_data(ngx_queue_head(&redis->waiting), redis_command_t, link);
        ngx_queue_remove(&command->link);
        if (redis->ready)
            redisAsyncFormattedCommand(redis->context, redis_reply, command->ticket,
                    command->bytes, (size_t)command->size);
        else redis_end(redis, command->ticket, NULL);
        redisFreeCommand(command->bytes);
        mrb_free(gw_vm.mrb, command);
    }
}

static void redis_ready(redis_t *redis) {
    redis->ready = true;
    redis->pause = REDIS_PAUSE;
    redis_explain(redis, "");
    redis_empty(redis);
}

/* The answer to AUTH or SELECT. */
static void redis_greeted(redisAsyncContext *context, void *data, void *unused) {
    redis_t *redis = context->data;
    const redisReply *reply = data;
    if (!reply || redis->ends) return;
    if (reply->type == REDIS_REPLY_ERROR) {
        redis_explain(redis, reply->str);
        ngx_log_error(NGX_LOG_ERR, ngx_cycle->log, 0, "godwit: %s", redis->error);
        gw_post(&redis->broken);
    } else if (--redis->greetings == 0) redis_ready(redis);
}

static void redis_connected(const redisAsyncContext *context, int status) {
    redis_t *redis = context->data;
    if (status != REDIS_OK) {
        redis_explain(redis, context->errstr);
        return;
    }
    const char *user = redis->user, *password = redis->password;
    redis->greetings = (password != NULL) + (redis->database > 0);
    if (password)
        redisAsyncCommand(redis->context, redis_greeted, NULL, user ? "AUTH %s %s" : "AUTH %s",
                user ? user : password, password);
    if (redis->database > 0)
        redisAsyncCommand(redis->context, redis_greeted, NULL, "SELECT %d", redis->database);
    if (!redis->greetings) redis_ready(redis);
}

/* The connection is at its end, or could not begin. */
static void redis_down(redis_t *redis) {
    redis->context = NULL;
    redis->ready = false;
    redis_empty(redis);
    if (redis->ends) return;
    ngx_add_timer(&redis->again, redis->pause);
    redis->pause = ngx_min(2 * redis->pause, REDIS_PAUSE_MOST);
}

static void redis_cleanup(void *data) {
    redis_t *redis = data;
    gw_unpost(&redis->flush);
    gw_unpost(&redis->broken);
    gw_watch_end(redis->connection);
    redis->connection = NULL;
    redis_explain_end(redis, redis->context->errstr);
    redis_down(redis);
}

static void redis_connect(redis_t *redis) {
    redisAsyncContext *context = strchr(redis->host, '/')
            ? redisAsyncConnectUnix(redis->host)
            : redisAsyncConnect(redis->host, redis->port);
    bool failed = !context || context->err;
    redis_explain(redis, failed && context ? context->errstr : "no connection");
    ngx_connection_t *connection =
            failed ? NULL : gw_watch_begin(context->c.fd, redis_io, NGX_LEVEL_EVENT);
    if (!connection) {
        if (context) redisAsyncFree(context);
        redis_down(redis);
        return;
    }
    redis->context = context;
    redis->connection = connection;
    connection->data = redis;
    context->data = context->ev.data = redis;
    context->ev.addRead = redis_add_read;
    context->ev.addWrite = redis_add_write;
    context->ev.delWrite = redis_delete_write;
    context->ev.cleanup = redis_cleanup;
    redisAsyncSetConnectCallback(context, redis_connected);
}

/* ---- for Ruby ---- */

/* Without an answer for those that wait: their VM ends, since they keep the object. */
static void redis_free(mrb_state *mrb, void *data) {
    redis_t *redis = data;
    if (!redis) return;
    redis->ends = true;
    if (redis->again.timer_set) ngx_del_timer(&redis->again);
    if (redis->context) redisAsyncFree(redis->context);
    mrb_free(mrb, redis->host);
    mrb_free(mrb, redis->user);
    mrb_free(mrb, redis->password);
    mrb_free(mrb, redis);
}

static const struct mrb_data_type redis_type = {"Edge::Redis", redis_free};

static char *redis_copy(mrb_state *mrb, mrb_value text) {
    if (mrb_nil_p(text)) return NULL;
    const char *bytes = mrb_string_value_cstr(mrb, &text);
    return strcpy(mrb_malloc(mrb, strlen(bytes) + 1), bytes);
}

/* The host's address, so that no later connection resolves: that of IPv6 if there is no other. */
static char *redis_resolve(mrb_state *mrb, mrb_value host) {
    const char *name = mrb_string_value_cstr(mrb, &host);
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    char address[NI_MAXHOST] = "";
    if (strchr(name, '/')) return redis_copy(mrb, host);
    int error = getaddrinfo(name, NULL, &hints, &found);
    hints.ai_family = AF_INET6;
    if (error) error = getaddrinfo(name, NULL, &hints, &found);
    if (error) gw_vm_raise("ConnectionError", "Redis at %s: %s", name, gai_strerror(error));
    getnameinfo(found->ai_addr, found->ai_addrlen, address, sizeof address, NULL, 0,
            NI_NUMERICHOST);
    freeaddrinfo(found);
    return redis_copy(mrb, mrb_str_new_cstr(mrb, address));
}

/* _open(host or path, port, user, password, database, milliseconds) */
static mrb_value redis_open(mrb_state *mrb, mrb_value self) {
    mrb_value host, user, password;
    mrb_int port, database, timeout;
    mrb_get_args(mrb, "Siooii", &host, &port, &user, &password, &database, &timeout);
    redis_t *redis = mrb_calloc(mrb, 1, sizeof *redis);
    mrb_data_init(self, redis, &redis_type);
    ngx_queue_init(&redis->waiting);
    gw_vm_event(&redis->flush, redis_flush);
    gw_vm_event(&redis->broken, redis_break);
    gw_vm_event(&redis->again, redis_again);
    redis->again.cancelable = 1; /* a worker that ends does not wait for it */
    redis->host = redis_resolve(mrb, host);
    redis->reason = (size_t)snprintf(redis->error, sizeof redis->error,
            strchr(redis->host, '/') ? "Redis at %s: " : "Redis at %s:%d: ", redis->host,
            (int)port);
    redis->user = redis_copy(mrb, user);
    redis->password = redis_copy(mrb, password);
    redis->port = (int)port;
    redis->database = (int)database;
    redis->timeout = (ngx_msec_t)timeout;
    redis->pause = REDIS_PAUSE;
    redis_connect(redis);
    return self;
}

static mrb_value redis_word(mrb_state *mrb, mrb_value word) {
    if (mrb_string_p(word)) return word;
    if (mrb_symbol_p(word) || mrb_integer_p(word) || mrb_float_p(word))
        return mrb_obj_as_string(mrb, word);
    mrb_raisef(mrb, E_TYPE_ERROR, "%v is no word of a command: give a String, Symbol or number",
            word);
}

/* _send(words): the fiber is to wait. */
static mrb_value redis_send(mrb_state *mrb, mrb_value self) {
    mrb_value words;
    mrb_get_args(mrb, "A", &words);
    redis_t *redis = mrb_data_get_ptr(mrb, self, &redis_type);
    if (!redis) gw_vm_raise("Error", "this Redis was not initialized");
    if (!redis->context) gw_vm_raise("ConnectionError", "%s", redis->error);
    mrb_int count = RARRAY_LEN(words);
    const char **bytes = mrb_alloca(mrb, (size_t)count * (sizeof *bytes + sizeof(size_t)));
    size_t *sizes = (size_t *)(bytes + count);
    for (mrb_int i = 0; i < count; i++) {
        mrb_value word = redis_word(mrb, RARRAY_PTR(words)[i]);
        bytes[i] = RSTRING_PTR(word);
        sizes[i] = (size_t)RSTRING_LEN(word);
    }
    gw_ticket_t *ticket = gw_wait_begin(mrb, redis->timeout);
    gw_wait_hold(ticket, redis_late, redis);
    gw_wait_count(ticket, GW_WAIT_REDIS);
    if (!redis->ready) {
        redis_command_t *command = mrb_malloc(mrb, sizeof *command);
        command->ticket = ticket;
        command->size = redisFormatCommandArgv(&command->bytes, (int)count, bytes, sizes);
        ngx_queue_insert_tail(&redis->waiting, &command->link);
    } else if (redisAsyncCommandArgv(redis->context, redis_reply, ticket, (int)count, bytes,
                       sizes) != REDIS_OK) {
        gw_wait_end(ticket, gw_vm_error("ConnectionError", "%s", redis->error));
    }
    return mrb_nil_value();
}

void gw_redis_init(mrb_state *mrb) {
    struct RClass *class = mrb_define_class_under(mrb, gw_vm.edge, "Redis", mrb->object_class);
    MRB_SET_INSTANCE_TT(class, MRB_TT_DATA);
    mrb_define_method(mrb, class, "_open", redis_open, MRB_ARGS_REQ(6));
    mrb_define_method(mrb, class, "_send", redis_send, MRB_ARGS_REQ(1));
}
