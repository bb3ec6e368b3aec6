/* Moves records between librdkafka and Ruby. A forked child must call no function of this
 * extension, since librdkafka's threads do not exist there: the Ruby code refuses such calls. */
#ifndef GODWIT_KAFKA_EXT_H
#define GODWIT_KAFKA_EXT_H
#include <ruby.h>
#include <stdbool.h>
#include <string.h>
#include "librdkafka.h"

/* library.c: pointers to librdkafka's functions, which are NULL until Native.open */
#define GW_POINTER(type, name, parameters) type(*name) parameters;
typedef struct {
    GW_LIBRDKAFKA_FUNCTIONS(GW_POINTER)
} gw_librdkafka_t;
extern gw_librdkafka_t gw_rd;

void gw_check(bool right, VALUE error, const char *format, ...); /* raises unless `right` */
VALUE gw_class(const char *name);                                /* a class of Work::Kafka */
VALUE gw_text(const char *text);                                 /* a String of valid UTF-8 */
void *gw_library_handle(VALUE address); /* raises unless librdkafka is open */
void gw_init_library(VALUE kafka, VALUE native);

/* block.c. A cursor has offsets and no pointers, since the GC may move a block. GW_KEYS and
 * GW_HEADERS are also bits in the flags of a block: the block has this column. */
typedef enum { GW_VALUES, GW_KEYS, GW_HEADERS, GW_COLUMNS } gw_column_t;
typedef struct {
    uint32_t count;
    size_t lengths[GW_COLUMNS], data[GW_COLUMNS]; /* offsets; 0 in lengths: no such column */
} gw_cursor_t;

gw_cursor_t gw_block_open(VALUE block); /* raises if the block is malformed */
const char *gw_block_next(gw_cursor_t *at, gw_column_t column, const char *bytes, size_t *size);
void gw_block_pairs(const char *at, size_t size, rd_kafka_headers_t *headers);
VALUE gw_block_make(rd_kafka_message_t **messages, size_t count, int columns);

void gw_init_drain(VALUE native);
void gw_init_deliveries(VALUE native);
#endif
