/* Reads and writes blocks, as Block.encode: number of records, flags, the lengths of each column,
 * then the columns (values, keys, headers). Numbers are little-endian; -1 is the length of nil. */
#include "kafka_ext.h"

enum { BLOCK_HEAD = 5, BLOCK_NIL = -1 };

static bool block_has(int flags, int column) { return column == GW_VALUES || flags & column; }

static void block_put32(char *at, int64_t value) {
    for (int i = 0; i < 4; i++) at[i] = (char)(value >> 8 * i);
}

static int32_t block_get32(const char *at) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value |= (uint32_t)(unsigned char)at[i] << 8 * i;
    return (int32_t)value;
}

/* Moves `at` behind the next `size` bytes. Returns the start of these bytes. */
static const char *block_take(const char **at, const char *end, int64_t size) {
    gw_check(size >= 0 && size <= end - *at, rb_eArgError,
            "cannot produce a malformed block: use Block.encode");
    return (*at += size) - size;
}

/* Adds a record's headers (name and value) to `headers`. If `headers` is NULL, checks the bytes. */
void gw_block_pairs(const char *at, size_t size, rd_kafka_headers_t *headers) {
    for (const char *end = at + size; at < end;) {
        const char *lengths = block_take(&at, end, 8), *value = NULL;
        int32_t name_size = block_get32(lengths), value_size = block_get32(lengths + 4);
        const char *name = block_take(&at, end, name_size);
        if (value_size == BLOCK_NIL) value_size = 0;
        else value = block_take(&at, end, value_size);
        if (headers) gw_rd.header_add(headers, name, name_size, value, value_size);
    }
}

gw_cursor_t gw_block_open(VALUE block) {
    gw_cursor_t cursor = {0};
    const char *bytes = RSTRING_PTR(block), *at = bytes, *end = RSTRING_END(block);
    const char *head = block_take(&at, end, BLOCK_HEAD);
    cursor.count = (uint32_t)block_get32(head);
    for (int column = 0; column < GW_COLUMNS; column++)
        if (block_has(head[4], column))
            cursor.lengths[column] = block_take(&at, end, 4 * (int64_t)cursor.count) - bytes;
    for (int column = 0; column < GW_COLUMNS; column++) {
        cursor.data[column] = at - bytes;
        for (size_t i = 0; cursor.lengths[column] && i < cursor.count; i++) {
            int32_t length = block_get32(bytes + cursor.lengths[column] + 4 * i);
            const char *data = length == BLOCK_NIL ? at : block_take(&at, end, length);
            if (column == GW_HEADERS) gw_block_pairs(data, at - data, NULL);
        }
    }
    block_take(&at, end, at == end ? 0 : BLOCK_NIL); /* raises if bytes follow the columns */
    return cursor;
}

const char *gw_block_next(gw_cursor_t *at, gw_column_t column, const char *bytes, size_t *size) {
    *size = 0;
    if (!at->lengths[column]) return NULL;
    int32_t length = block_get32(bytes + at->lengths[column]);
    at->lengths[column] += 4;
    if (length == BLOCK_NIL) return NULL;
    const char *data = bytes + at->data[column];
    at->data[column] += *size = (size_t)length;
    return data;
}

/* Writes a message's headers to `at`, unless it is NULL. Returns their size, or BLOCK_NIL. */
static int64_t block_put_headers(const rd_kafka_message_t *message, char *at) {
    rd_kafka_headers_t *headers;
    const char *name;
    const void *value;
    size_t size;
    int64_t total = 0;
    if (gw_rd.message_headers(message, &headers)) return BLOCK_NIL;
    for (size_t i = 0; !gw_rd.header_get_all(headers, i, &name, &value, &size); i++) {
        size_t name_size = strlen(name), pair = 8 + name_size + (value ? size : 0);
        total += (int64_t)pair;
        if (!at) continue;
        block_put32(at, (int64_t)name_size);
        block_put32(at + 4, value ? (int64_t)size : BLOCK_NIL);
        memcpy(at + 8, name, name_size);
        if (value) memcpy(at + 8 + name_size, value, size);
        at += pair;
    }
    return total ? total : BLOCK_NIL;
}

/* Writes the message's value, key or headers to `at`, unless it is NULL. Returns the size. */
static int64_t block_put(const rd_kafka_message_t *message, int column, char *at) {
    if (column == GW_HEADERS) return block_put_headers(message, at);
    const void *from = column == GW_KEYS ? message->key : message->payload;
    size_t size = column == GW_KEYS ? message->key_len : message->len;
    if (from && at) memcpy(at, from, size);
    return from ? (int64_t)size : BLOCK_NIL;
}

/* Needs the GVL. The messages have no data in the columns from number `columns` on. */
VALUE gw_block_make(rd_kafka_message_t **messages, size_t count, int columns) {
    int flags = 0;
    size_t lengths_size = 4 * count, total = BLOCK_HEAD + lengths_size;
    for (int column = 0; column < columns; column++) {
        for (size_t i = 0; i < count; i++) {
            int64_t size = block_put(messages[i], column, NULL);
            if (size == BLOCK_NIL) continue;
            total += (size_t)size + (block_has(flags, column) ? 0 : lengths_size);
            flags |= column;
        }
    }
    VALUE block = rb_str_new(NULL, (long)total);
    char *bytes = RSTRING_PTR(block), *lengths = bytes + BLOCK_HEAD, *data = lengths;
    block_put32(bytes, (int64_t)count);
    bytes[4] = (char)flags;
    for (int column = 0; column < GW_COLUMNS; column++)
        if (block_has(flags, column)) data += lengths_size;
    for (int column = 0; column < GW_COLUMNS; column++) {
        for (size_t i = 0; block_has(flags, column) && i < count; i++, lengths += 4) {
            int64_t size = block_put(messages[i], column, data);
            block_put32(lengths, size);
            if (size > 0) data += size;
        }
    }
    RB_GC_GUARD(block);
    return block;
}
