/* The extension's entry point, and functions without an object: version, features, keys. All
 * functions need the GVL. */
#include "proxy.h"
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>

static VALUE godwit_libzmq_version(VALUE self) {
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    return rb_ary_new_from_args(3, INT2FIX(major), INT2FIX(minor), INT2FIX(patch));
}

static VALUE godwit_has(VALUE self, VALUE feature) {
    return RBOOL(zmq_has(StringValueCStr(feature)));
}

/* curve_keypair(secret key, or nil for a new one) => [public, secret] as Z85; nil without CURVE */
static VALUE godwit_curve_keypair(VALUE self, VALUE given) {
    char public_key[41], secret_key[41];
    if (NIL_P(given)) {
        if (zmq_curve_keypair(public_key, secret_key) != 0) return Qnil;
        given = rb_usascii_str_new(secret_key, 40);
    } else if (zmq_curve_public(public_key, StringValueCStr(given)) != 0) {
        return Qnil;
    }
    return rb_ary_new_from_args(2, rb_usascii_str_new(public_key, 40), given);
}

/* connection(descriptor) => [own address, the peer's, struct tcp_info or nil], as bytes; nil: the
 * descriptor is no connected socket. libzmq may close the descriptor at any time; a Socket of Ruby
 * over such a descriptor would abort the process. */
static VALUE godwit_connection(VALUE self, VALUE descriptor) {
    int fd = NUM2INT(descriptor);
    struct sockaddr_storage own, peer;
    struct tcp_info facts;
    socklen_t own_size = sizeof own, peer_size = sizeof peer, size = sizeof facts;
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_size) != 0) return Qnil;
    if (getsockname(fd, (struct sockaddr *)&own, &own_size) != 0) return Qnil;
    bool tcp = getsockopt(fd, IPPROTO_TCP, TCP_INFO, &facts, &size) == 0;
    return rb_ary_new_from_args(3, rb_str_new((char *)&own, own_size),
            rb_str_new((char *)&peer, peer_size), tcp ? rb_str_new((char *)&facts, size) : Qnil);
}

/* swap(object, :@variable, known, next): sets the variable to `next` if its value is `known`, and
 * returns whether it was. No other thread runs in between. */
static VALUE godwit_swap(VALUE self, VALUE object, VALUE variable, VALUE known, VALUE next) {
    ID name = rb_sym2id(variable);
    if (rb_ivar_get(object, name) != known) return Qfalse;
    rb_ivar_set(object, name, next);
    return Qtrue;
}

RUBY_FUNC_EXPORTED void Init_godwit_ext(void) {
#ifdef HAVE_RB_EXT_RACTOR_SAFE
    rb_ext_ractor_safe(true);
#endif
    gw_mGodwit = rb_define_module("Godwit");
    VALUE backend = rb_define_module_under(gw_mGodwit, "Backend");
    VALUE native = rb_define_module_under(backend, "Native");
    VALUE takeover = rb_define_module_under(native, "Takeover");
    rb_define_module_function(native, "libzmq_version", godwit_libzmq_version, 0);
    rb_define_module_function(native, "has", godwit_has, 1);
    rb_define_module_function(native, "curve_keypair", godwit_curve_keypair, 1);
    rb_define_module_function(native, "connection", godwit_connection, 1);
    rb_define_module_function(native, "swap", godwit_swap, 4);
    gw_init_error();
    gw_init_draft_symbols(native);
    gw_init_process();
    gw_init_native_context();
    gw_init_ractor();
    gw_init_wait();
    gw_init_context();
    gw_init_socket();
    gw_init_unsent(native);
    gw_init_endpoints();
    gw_init_options();
    gw_init_pin();
    gw_init_frame();
    gw_init_connected();
    gw_init_counts(native);
    gw_init_send(takeover);
    gw_init_recv(takeover);
    gw_init_poller();
    gw_init_monitor();
    gw_init_proxy();
    gw_init_addressed();
    gw_init_rbczmq(native);
    gw_init_statistics(native);
    gw_init_log_queue(native);
    gw_init_packing(native);
    gw_init_header(native);
    gw_init_rows(native);
}
