/* The writers of a broadcaster's records: a hash table, and a list in the order of their last
 * records. Each writer has the gaps in its sequence numbers. The caller has locked the mutex of the
 * statistics. No function needs the GVL. */
#include "logger.h"
#include <stdlib.h>

bool gw_writers_open(gw_writers_t *table, uint32_t most) {
    uint32_t buckets = 2;
    while (buckets / 2 < most) buckets *= 2;
    *table = (gw_writers_t){
            .writers = malloc(most * sizeof(gw_writer_t)), /* unwritten pages use no memory */
            .buckets = malloc(buckets * sizeof(uint32_t)),
            .most = most,
            .mask = buckets - 1,
            .newest = GW_NO_WRITER,
            .oldest = GW_NO_WRITER,
    };
    if (!table->writers || !table->buckets) return false;
    memset(table->buckets, 0xff, buckets * sizeof(uint32_t)); /* each bucket is now GW_NO_WRITER */
    return true;
}

void gw_writers_free(gw_writers_t *table) {
    free(table->writers);
    free(table->buckets);
}

size_t gw_writers_size(const gw_writers_t *table) {
    return table->count * sizeof(gw_writer_t) + ((size_t)table->mask + 1) * sizeof(uint32_t);
}

/* Ruby's hash function has a random seed, so a sender cannot choose ids that share one bucket. */
static uint32_t *writers_bucket(gw_writers_t *table, const unsigned char *id) {
    return &table->buckets[rb_memhash(id, GW_LOG_ID_BYTES) & table->mask];
}

static void writers_unlink(gw_writers_t *table, uint32_t index) {
    gw_writer_t *writer = &table->writers[index];
    if (writer->newer == GW_NO_WRITER) table->newest = writer->older;
    else table->writers[writer->newer].older = writer->older;
    if (writer->older == GW_NO_WRITER) table->oldest = writer->newer;
    else table->writers[writer->older].newer = writer->newer;
}

static void writers_link_newest(gw_writers_t *table, uint32_t index) {
    gw_writer_t *writer = &table->writers[index];
    writer->newer = GW_NO_WRITER;
    writer->older = table->newest;
    if (table->newest == GW_NO_WRITER) table->oldest = index;
    else table->writers[table->newest].newer = index;
    table->newest = index;
}

/* Removes the writer whose last record is the oldest; the totals still include its records. */
static uint32_t writers_forget_oldest(gw_writers_t *table) {
    uint32_t index = table->oldest, *at = writers_bucket(table, table->writers[index].id);
    while (*at != index) at = &table->writers[*at].chain;
    *at = table->writers[index].chain;
    writers_unlink(table, index);
    table->forgotten++;
    return index;
}

static uint8_t writers_copy_name(char *to, gw_bytes_t from) {
    uint8_t size = from.size < GW_LOG_NAME_BYTES ? from.size : GW_LOG_NAME_BYTES;
    if (size) memcpy(to, from.data, size);
    return size;
}

/* Returns the writer of this record, and makes it the newest writer. */
static gw_writer_t *writers_find(gw_writers_t *table, const gw_identity_t *identity) {
    uint32_t index = *writers_bucket(table, identity->id);
    while (index != GW_NO_WRITER &&
            memcmp(table->writers[index].id, identity->id, GW_LOG_ID_BYTES) != 0)
        index = table->writers[index].chain;
    if (index != GW_NO_WRITER) {
        if (index != table->newest) {
            writers_unlink(table, index);
            writers_link_newest(table, index);
        }
        return &table->writers[index];
    }
    index = table->count < table->most ? table->count++ : writers_forget_oldest(table);
    gw_writer_t *writer = &table->writers[index];
    uint32_t *first = writers_bucket(table, identity->id);
    memset(writer, 0, sizeof *writer);
    memcpy(writer->id, identity->id, GW_LOG_ID_BYTES);
    writer->first = identity->seq;
    writer->last = identity->seq - 1;
    writer->prog_size = writers_copy_name(writer->prog, identity->prog);
    writer->host_size = writers_copy_name(writer->host, identity->host);
    writer->chain = *first;
    *first = index;
    writers_link_newest(table, index);
    return writer;
}

static void writers_drop_gap(gw_writer_t *writer, int at) {
    writer->gap_count--;
    memmove(&writer->gaps[at], &writer->gaps[at + 1],
            (writer->gap_count - at) * sizeof *writer->gaps);
}

static void writers_add_gap(gw_writer_t *writer, uint64_t first, uint64_t last) {
    if (writer->gap_count == GW_LOG_GAPS) writers_drop_gap(writer, 0);
    writer->gaps[writer->gap_count++] = (gw_gap_t){first, last};
}

/* Returns whether the record of this number was missing, and removes the number from the gaps. */
static bool writers_fill_gap(gw_writer_t *writer, uint64_t number) {
    int at = 0;
    while (at < writer->gap_count && number > writer->gaps[at].last) at++;
    gw_gap_t *gap = &writer->gaps[at];
    if (at == writer->gap_count || number < gap->first) return false;
    if (number == gap->first && number == gap->last) {
        writers_drop_gap(writer, at);
    } else if (number == gap->last) {
        gap->last--;
    } else {
        uint64_t first = gap->first;
        gap->first = number + 1;
        /* Without room for another gap, the numbers before `number` in this gap are forgotten. */
        if (number == first || writer->gap_count == GW_LOG_GAPS) return true;
        memmove(gap + 1, gap, (writer->gap_count - at) * sizeof *gap);
        *gap = (gw_gap_t){first, number - 1};
        writer->gap_count++;
    }
    return true;
}

void gw_writers_count(gw_writers_t *table, const gw_identity_t *identity, size_t bytes) {
    gw_writer_t *writer = writers_find(table, identity);
    table->records++;
    if (identity->seq > writer->last) {
        uint64_t lost = identity->seq - writer->last - 1;
        if (lost) writers_add_gap(writer, writer->last + 1, identity->seq - 1);
        writer->lost += lost;
        table->lost += lost;
        writer->last = identity->seq;
        writer->received++;
    } else {
        writer->late++;
        table->late++;
        if (writers_fill_gap(writer, identity->seq)) {
            writer->lost--;
            table->lost--;
            writer->received++;
        }
    }
    writer->bytes += bytes;
    writer->levels[identity->level]++;
    writer->lag = gw_nanoseconds(CLOCK_REALTIME) - (int64_t)identity->t_ns;
    if (writer->lag > writer->longest_lag) writer->longest_lag = writer->lag;
    writer->heard = gw_milliseconds_now();
}
