/* What the logger's files share: the layouts of records and entries, functions that use them. */
#ifndef GODWIT_LOGGER_H
#define GODWIT_LOGGER_H
#include "logger_constants.h"
#include "proxy.h"

enum { GW_ID_HEX = 2 * GW_LOG_ID_BYTES };
#define GW_NO_WRITER UINT32_MAX
#define GW_LOG_NUMBERS UINT64_C(10000000000000000000) /* each number in a header is lower */

typedef struct {
    const char *data; /* borrowed, not ended by NUL */
    size_t size;
} gw_bytes_t;

/* The identity of a record: its writer, numbers, level, program and host. */
typedef struct {
    unsigned char id[GW_LOG_ID_BYTES];
    uint64_t seq, tseq, t_ns;
    gw_bytes_t prog, host; /* escaped, as in the topic */
    int level;
} gw_identity_t;

/* Indexes of the members of Godwit::Logger::Entry. */
enum {
    GW_ENTRY_STREAM,
    GW_ENTRY_T_NS,
    GW_ENTRY_MONO_NS,
    GW_ENTRY_THREAD,
    GW_ENTRY_TEXT,
    GW_ENTRY_TAGS,
    GW_ENTRY_PAYLOAD,
    GW_ENTRY_ERROR,
    GW_ENTRY_MEMBERS
};
/* Indexes of the first members of Godwit::Logger::Header. */
enum { GW_HEADER_WRITER, GW_HEADER_SEQ, GW_HEADER_TSEQ, GW_HEADER_T_NS };
/* Indexes of the members of Godwit::Logger::Header::Common. */
enum { GW_COMMON_TOPIC, GW_COMMON_BEFORE_THREAD, GW_COMMON_AFTER_THREAD };

/* A record in a batch: topic, header and text. */
typedef struct {
    const char *frames[GW_LOG_FRAMES]; /* borrowed from the batch */
    size_t sizes[GW_LOG_FRAMES];
} gw_packed_t;

/* The first and last number of consecutive records that were not received. A record of the gap that
 * arrives late shortens, splits or ends the gap (logger/reading/writer_statistics.rb). */
typedef struct {
    uint64_t first, last;
} gw_gap_t;

typedef struct {
    unsigned char id[GW_LOG_ID_BYTES];
    uint64_t first, last, received, lost, late, bytes, levels[GW_LOG_LEVELS];
    int64_t lag, longest_lag;   /* ns from a record's time to its arrival: last record, longest */
    int64_t heard;              /* ms, when the last record came */
    uint32_t newer, older;      /* indexes: next and previous writer in the order of `heard` */
    uint32_t chain;             /* index of the next writer in the same bucket */
    gw_gap_t gaps[GW_LOG_GAPS]; /* gaps in ascending order */
    uint8_t gap_count, prog_size, host_size;
    char prog[GW_LOG_NAME_BYTES], host[GW_LOG_NAME_BYTES]; /* longer names are cut */
} gw_writer_t;

typedef struct {
    gw_writer_t *writers; /* owned; `count` writers */
    uint32_t *buckets;    /* owned; index of each bucket's first writer; `mask` + 1 buckets */
    uint32_t count, most, mask, newest, oldest;
    uint64_t records, lost, late, forgotten;
} gw_writers_t;

/* Returns the number of records in the two frames of a batch; 0: the frames are no batch. */
int gw_packing_count(const char *mark, size_t mark_size, const char *data, size_t size);
/* Reads the record at the offset, and advances the offset. */
bool gw_packing_next(const char *data, size_t size, size_t *offset, gw_packed_t *record);
/* Returns the record as a packed String. Needs the GVL. */
VALUE gw_packing_record(gw_bytes_t topic, const gw_bytes_t *header, int pieces, gw_bytes_t text);
VALUE gw_payload(VALUE self, VALUE hash);
bool gw_identity_parse(gw_bytes_t topic, gw_bytes_t header, gw_identity_t *identity);
/* Reads the identity of a Header. Returns false if a value does not fit into an identity.
 * Needs the GVL. */
bool gw_identity_of(gw_bytes_t topic, VALUE header, gw_identity_t *identity);
int gw_line_level(gw_bytes_t line);
/* Returns false if there is no memory; gw_writers_free then frees what was allocated. */
bool gw_writers_open(gw_writers_t *table, uint32_t most);
void gw_writers_free(gw_writers_t *table);
size_t gw_writers_size(const gw_writers_t *table);
void gw_writers_count(gw_writers_t *table, const gw_identity_t *identity, size_t bytes);

#endif
