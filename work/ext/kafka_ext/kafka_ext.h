/* Moves records between librdkafka and Ruby. A forked child must call nothing here, since its
 * parent's threads and locks are not there: Ruby refuses such calls. */
#ifndef GODWIT_KAFKA_EXT_H
#define GODWIT_KAFKA_EXT_H
#include <ruby.h>
#include <stdbool.h>
#include <string.h>
#include "librdkafka.h"

/* library.c: librdkafka's functions are NULL until Native.open */
#define GW_POINTER(type, name, parameters) type(*name) parameters;
typedef struct {
    GW_LIBRDKAFKA_FUNCTIONS(GW_POINTER)
} gw_librdkafka_t;
extern gw_librdkafka_t gw_rd;

void gw_check(bool right, VALUE error, const char *format, ...); /* the one place that raises */
VALUE gw_class(const char *name);                                /* of Godwit::Work::Kafka */
VALUE gw_text(const char *text);                                 /* valid UTF-8 */
void *gw_library_handle(VALUE address); /* raises unless librdkafka is open */
void gw_init_library(VALUE kafka, VALUE native);

/* block.c. A cursor points to a block's next record by offsets: compaction moves Strings. */
typedef enum { GW_VALUES, GW_KEYS, GW_HEADERS, GW_COLUMNS } gw_column_t; /* keys, headers: flags */
typedef struct {
    uint32_t count;
    size_t lengths[GW_COLUMNS], data[GW_COLUMNS]; /* lengths of 0: the block lacks the column */
} gw_cursor_t;

gw_cursor_t gw_block_open(VALUE block); /* raises if it is malformed */
const char *gw_block_next(gw_cursor_t *at, gw_column_t column, const char *bytes, size_t *size);
void gw_block_pairs(const char *at, size_t size, rd_kafka_headers_t *headers);
VALUE gw_block_make(rd_kafka_message_t **messages, size_t count, int columns);

void gw_init_drain(VALUE native);
void gw_init_deliveries(VALUE native);
#endif
