/* Shared by the files of Godwit::Logger::Native::Statistics. */
#ifndef GODWIT_LOGGER_STATISTICS_H
#define GODWIT_LOGGER_STATISTICS_H
#include "proxy.h"

enum { GW_ID_HEX = 2 * GW_LOG_ID_BYTES };
#define GW_NO_WRITER UINT32_MAX

typedef struct {
    const char *data; /* borrowed, not ended by NUL */
    size_t size;
} gw_bytes_t;

/* The head of a record. */
typedef struct {
    unsigned char id[GW_LOG_ID_BYTES];
    uint64_t seq, t_ns;
    gw_bytes_t prog, host; /* as in the topic, escaped */
    int level;
} gw_head_t;

/* Numbers of missing records, as Gaps in lib/godwit/logger/reading/writers.rb: a record may arrive
 * after a later one. */
typedef struct {
    uint64_t first, last;
} gw_gap_t;

typedef struct {
    unsigned char id[GW_LOG_ID_BYTES];
    uint64_t first, last, received, lost, late, bytes, levels[GW_LOG_LEVELS];
    int64_t lag, longest_lag;   /* ns between the writer's clock and ours */
    int64_t heard;              /* ms, monotonic */
    uint32_t newer, older;      /* places in `writers`, in the order of their last record */
    uint32_t chain;             /* next in the same bucket */
    gw_gap_t gaps[GW_LOG_GAPS]; /* ascending */
    uint8_t gap_count, prog_size, host_size;
    char prog[GW_LOG_NAME_BYTES], host[GW_LOG_NAME_BYTES]; /* longer ones are cut */
} gw_writer_t;

typedef struct {
    gw_writer_t *writers; /* owned; `count` of them */
    uint32_t *buckets;    /* owned; a power of two, twice `capacity` */
    uint32_t count, capacity, most, newest, oldest;
    uint64_t seed, other_seed; /* random: a sender cannot aim at one bucket */
    uint64_t records, lost, late, forgotten;
} gw_writers_t;

bool gw_head_parse(gw_bytes_t topic, gw_bytes_t header, gw_head_t *head);
/* Whether the header begins as Godwit writes it. */
bool gw_head_own_seq(gw_bytes_t header, uint64_t *seq);
int gw_head_level_of_line(gw_bytes_t line);
void gw_writers_free(gw_writers_t *table);
size_t gw_writers_size(const gw_writers_t *table);
void gw_writers_count(gw_writers_t *table, const gw_head_t *head, size_t bytes);
long gw_writers_longest_chain(const gw_writers_t *table);

#endif
