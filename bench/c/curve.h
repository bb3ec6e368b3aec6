/* CURVE for the two loops of thr.h, with the test keys of RFC 26's reference code, which are no
   secret. */
#ifndef GODWIT_BENCH_CURVE_H
#define GODWIT_BENCH_CURVE_H

#include "thr.h"

#define CURVE_SERVER_PUBLIC "rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"
#define CURVE_SERVER_SECRET "JTKVSB%%)wK0E.X)V>+}o?pNmC{O&4W4b!Ni{Lh6"

static inline void curve_set(void *socket, int option, const void *value, size_t size)
{
    if (zmq_setsockopt(socket, option, value, size)) bench_fail("zmq_setsockopt");
}

static inline void curve_server(void *socket)
{
    int yes = 1;
    curve_set(socket, ZMQ_CURVE_SERVER, &yes, sizeof yes);
    curve_set(socket, ZMQ_CURVE_SECRETKEY, CURVE_SERVER_SECRET, 41);
}

static inline void curve_client(void *socket)
{
    char public_key[41], secret_key[41];
    if (zmq_curve_keypair(public_key, secret_key)) bench_fail("zmq_curve_keypair");
    curve_set(socket, ZMQ_CURVE_PUBLICKEY, public_key, 41);
    curve_set(socket, ZMQ_CURVE_SECRETKEY, secret_key, 41);
    curve_set(socket, ZMQ_CURVE_SERVERKEY, CURVE_SERVER_PUBLIC, 41);
}

#endif
