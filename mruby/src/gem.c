/* The gem's entry point, and functions without an object: version, features, keys. */
#include "gem.h"
#include "errno_table.h"
#include <pthread.h>
#include <sys/socket.h>

static mrb_value gem_libzmq_version(mrb_state *mrb, mrb_value self) {
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    mrb_value numbers[] = {
            mrb_fixnum_value(major), mrb_fixnum_value(minor), mrb_fixnum_value(patch)};
    return mrb_ary_new_from_values(mrb, 3, numbers);
}

static mrb_value gem_has(mrb_state *mrb, mrb_value self) {
    const char *feature;
    mrb_get_args(mrb, "z", &feature);
    return mrb_bool_value(zmq_has(feature));
}

/* curve_keypair(secret key, or nil for a new one) => [public, secret] as Z85; nil without CURVE */
static mrb_value gem_curve_keypair(mrb_state *mrb, mrb_value self) {
    char public_key[41], secret_key[41];
    mrb_value given = mrb_get_arg1(mrb);
    if (mrb_nil_p(given)) {
        if (zmq_curve_keypair(public_key, secret_key) != 0) return mrb_nil_value();
        given = mrb_str_new(mrb, secret_key, 40);
    } else {
        mrb_ensure_string_type(mrb, given);
        if (zmq_curve_public(public_key, mrb_string_value_cstr(mrb, &given)) != 0)
            return mrb_nil_value();
    }
    return mrb_assoc_new(mrb, mrb_str_new(mrb, public_key, 40), given);
}

/* descriptor_problem(descriptor, whether for UNIX) => why it is no listening socket of UNIX, or of
 * TCP; nil: it is one */
static mrb_value gem_descriptor_problem(mrb_state *mrb, mrb_value self) {
    mrb_int fd;
    mrb_bool local;
    int type, listens;
    const char *problem = NULL;
    struct sockaddr_storage address;
    socklen_t size = sizeof type, listens_size = sizeof listens, address_size = sizeof address;
    mrb_get_args(mrb, "ib", &fd, &local);
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 ||
            getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0 ||
            getsockname(fd, (struct sockaddr *)&address, &address_size) != 0)
        problem = "is no open socket";
    else if (type != SOCK_STREAM) problem = "is no stream socket";
    else if (!listens) problem = "does not listen";
    else if (local != (address.ss_family == AF_UNIX)) problem = "is of another family";
    return problem ? mrb_str_new_cstr(mrb, problem) : mrb_nil_value();
}

/* errno(name) => its number, or nil */
static mrb_value gem_errno(mrb_state *mrb, mrb_value self) {
    const char *name;
    mrb_get_args(mrb, "z", &name);
    for (size_t i = 0; i < GW_ERRNOS_COUNT; i++) {
        if (strcmp(gw_errnos[i].name, name) == 0) return mrb_fixnum_value(gw_errnos[i].number);
    }
    return mrb_nil_value();
}

static mrb_value gem_strerror(mrb_state *mrb, mrb_value self) {
    mrb_int number;
    mrb_get_args(mrb, "i", &number);
    bool own = number >= ZMQ_HAUSNUMERO; /* libzmq's words for the others differ from libc's */
    return mrb_str_new_cstr(mrb, own ? zmq_strerror(number) : strerror(number));
}

/* generation => how often the process has forked to become this one */
static mrb_value gem_generation(mrb_state *mrb, mrb_value self) {
    return mrb_fixnum_value(atomic_load(&gw_generation));
}

static void gem_init_process(void) {
    gw_init_process();
    gw_init_native_context();
}

/* mrb_close calls it first: closes what the VM has open, then waits for the linger. */
static void gem_at_close(mrb_state *mrb) {
    gw_close_sockets(mrb);
    gw_close_contexts(mrb);
    int64_t start = gw_milliseconds_exact();
    while (gw_contexts_await(mrb, start, GW_FOREVER)) continue;
}

void mrb_mruby_godwit_gem_init(mrb_state *mrb) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, gem_init_process);
    struct RClass *godwit = mrb_define_module(mrb, "Godwit");
    struct RClass *backends = mrb_define_module_under(mrb, godwit, "Backend");
    struct RClass *backend = mrb_define_module_under(mrb, backends, "MRuby");
    mrb_define_class_method(mrb, backend, "libzmq_version", gem_libzmq_version, MRB_ARGS_NONE());
    mrb_define_class_method(mrb, backend, "has", gem_has, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, backend, "curve_keypair", gem_curve_keypair, MRB_ARGS_REQ(1));
    mrb_define_class_method(
            mrb, backend, "descriptor_problem", gem_descriptor_problem, MRB_ARGS_REQ(2));
    mrb_define_class_method(mrb, backend, "errno", gem_errno, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, backend, "strerror", gem_strerror, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, backend, "generation", gem_generation, MRB_ARGS_NONE());
    gw_init_error(mrb, godwit, backend);
    gw_init_context(mrb, godwit);
    mrb_define_class_under(mrb, godwit, "Poller", mrb->object_class);
    struct RClass *socket = gw_init_socket(mrb, godwit);
    gw_init_endpoints(mrb, socket);
    gw_init_options(mrb, socket);
    gw_init_send(mrb, socket);
    gw_init_recv(mrb, socket);
    gw_init_poll(mrb, socket, backend);
    mrb_state_atexit(mrb, gem_at_close);
}

/* mruby's build needs it; gem_at_close runs before. */
void mrb_mruby_godwit_gem_final(mrb_state *mrb) {}
