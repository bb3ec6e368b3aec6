/* The extension's declarations of librdkafka; prototypes_test.rb compares them with rdkafka.h. */
#ifndef GODWIT_LIBRDKAFKA_H
#define GODWIT_LIBRDKAFKA_H
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    int err;
    struct rd_kafka_topic_s *rkt;
    int32_t partition;
    void *payload; /* the text of an error, if err is not 0 */
    size_t len;
    void *key;
    size_t key_len;
    int64_t offset;
    void *_private; /* in a delivery report: what producev was given as OPAQUE */
} gw_message_t;

#define GW_LIBRDKAFKA_CONSTANTS(X)                                                                 \
    X(RD_KAFKA_RESP_ERR__QUEUE_FULL, -184) X(RD_KAFKA_RESP_ERR__NOENT, -156)                       \
    X(RD_KAFKA_MSG_F_COPY, 2) X(RD_KAFKA_EVENT_DR, 1) X(RD_KAFKA_EVENT_ERROR, 8)                   \
    X(RD_KAFKA_VTYPE_END, 0) X(RD_KAFKA_VTYPE_RKT, 2) X(RD_KAFKA_VTYPE_PARTITION, 3)               \
    X(RD_KAFKA_VTYPE_VALUE, 4) X(RD_KAFKA_VTYPE_KEY, 5) X(RD_KAFKA_VTYPE_OPAQUE, 6)                \
    X(RD_KAFKA_VTYPE_MSGFLAGS, 7) X(RD_KAFKA_VTYPE_TIMESTAMP, 8) X(RD_KAFKA_VTYPE_HEADERS, 10)

#ifndef _RDKAFKA_H_ /* prototypes_test.rb includes rdkafka.h first */
typedef struct rd_kafka_s rd_kafka_t;
typedef struct rd_kafka_conf_s rd_kafka_conf_t;
typedef struct rd_kafka_topic_s rd_kafka_topic_t;
typedef struct rd_kafka_queue_s rd_kafka_queue_t;
typedef struct rd_kafka_headers_s rd_kafka_headers_t;
typedef struct rd_kafka_op_s rd_kafka_event_t;
typedef gw_message_t rd_kafka_message_t;
typedef int rd_kafka_resp_err_t, rd_kafka_timestamp_type_t, rd_kafka_event_type_t;
#define GW_CONSTANT(name, value) name = (value),
enum { GW_LIBRDKAFKA_CONSTANTS(GW_CONSTANT) };
#endif

/* X(type of the return value, name without "rd_kafka_", parameters) */
#define GW_LIBRDKAFKA_FUNCTIONS(X)                                                                 \
    X(const char *, err2str, (rd_kafka_resp_err_t))                                                \
    X(const char *, topic_name, (const rd_kafka_topic_t *))                                        \
    X(ssize_t, consume_batch_queue, (rd_kafka_queue_t *, int, rd_kafka_message_t **, size_t))      \
    X(void, message_destroy, (rd_kafka_message_t *))                                               \
    X(int64_t, message_timestamp, (const rd_kafka_message_t *, rd_kafka_timestamp_type_t *))       \
    X(rd_kafka_resp_err_t, message_headers, (const rd_kafka_message_t *, rd_kafka_headers_t **))   \
    X(rd_kafka_resp_err_t, header_get_all,                                                         \
            (const rd_kafka_headers_t *, size_t, const char **, const void **, size_t *))          \
    X(rd_kafka_headers_t *, headers_new, (size_t))                                                 \
    X(rd_kafka_resp_err_t, header_add,                                                             \
            (rd_kafka_headers_t *, const char *, ssize_t, const void *, ssize_t))                  \
    X(void, headers_destroy, (rd_kafka_headers_t *))                                               \
    X(rd_kafka_resp_err_t, producev, (rd_kafka_t *, ...))                                          \
    X(void, conf_set_events, (rd_kafka_conf_t *, int))                                             \
    X(void, conf_set_opaque, (rd_kafka_conf_t *, void *))                                          \
    X(void, conf_set_background_event_cb,                                                          \
            (rd_kafka_conf_t *, void (*)(rd_kafka_t *, rd_kafka_event_t *, void *)))               \
    X(rd_kafka_queue_t *, queue_get_main, (rd_kafka_t *))                                          \
    X(rd_kafka_queue_t *, queue_get_background, (rd_kafka_t *))                                    \
    X(void, queue_forward, (rd_kafka_queue_t *, rd_kafka_queue_t *))                               \
    X(void, queue_destroy, (rd_kafka_queue_t *))                                                   \
    X(rd_kafka_event_type_t, event_type, (const rd_kafka_event_t *))                               \
    X(size_t, event_message_array, (rd_kafka_event_t *, const rd_kafka_message_t **, size_t))      \
    X(rd_kafka_resp_err_t, event_error, (rd_kafka_event_t *))                                      \
    X(const char *, event_error_string, (rd_kafka_event_t *))                                      \
    X(void, event_destroy, (rd_kafka_event_t *))
#endif
