/* Parses the head of a log record: its topic, and the members of its header that statistics need.
 * The proxy's loop calls these functions without the GVL, so they touch no Ruby. They need no lock.
 */
#include "logger_statistics.h"

static const char *const labels[GW_LOG_LEVELS] = GW_LOG_LABELS;

/* Takes the word off the front, if it is there. */
static bool head_skip(gw_bytes_t *text, const char *word, size_t size) {
    if (text->size < size || memcmp(text->data, word, size) != 0) return false;
    text->data += size;
    text->size -= size;
    return true;
}

/* Takes the part up to the first dot off the front. */
static bool head_take_part(gw_bytes_t *text, gw_bytes_t *part) {
    const char *dot = text->size ? memchr(text->data, '.', text->size) : NULL;
    if (!dot) return false;
    *part = (gw_bytes_t){text->data, dot - text->data};
    text->size -= part->size + 1;
    text->data = dot + 1;
    return true;
}

static bool head_take_number(gw_bytes_t *text, uint64_t *number) {
    int digits = 0;
    for (*number = 0; text->size && *text->data >= '0' && *text->data <= '9';
            text->data++, text->size--) {
        if (++digits > GW_LOG_DIGITS) return false;
        *number = 10 * *number + (*text->data - '0');
    }
    return digits > 0;
}

/* From 1, without a leading zero. */
static bool head_take_count(gw_bytes_t *text, uint64_t *number) {
    return text->size && *text->data != '0' && head_take_number(text, number);
}

static int head_nibble(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool head_take_id(gw_bytes_t *text, unsigned char *id) {
    if (text->size < GW_ID_HEX) return false;
    for (int i = 0; i < GW_LOG_ID_BYTES; i++) {
        int high = head_nibble(text->data[2 * i]), low = head_nibble(text->data[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        id[i] = high << 4 | low;
    }
    text->data += GW_ID_HEX;
    text->size -= GW_ID_HEX;
    return true;
}

static bool head_parse_topic(gw_bytes_t topic, gw_head_t *head) {
    gw_bytes_t label;
    if (!head_take_part(&topic, &label) || !head_take_part(&topic, &head->prog) ||
            !head_take_part(&topic, &head->host) || topic.size)
        return false;
    for (head->level = 0; head->level < GW_LOG_LEVELS; head->level++) {
        if (label.size == strlen(labels[head->level]) &&
                memcmp(label.data, labels[head->level], label.size) == 0)
            return true;
    }
    return false;
}

#define SKIP(text, word) head_skip(text, word, sizeof word - 1)

typedef bool head_take_t(gw_bytes_t *text, uint64_t *number);

/* Takes the start that Godwit writes off a header, up to t_ns. `take` takes seq and tseq. */
static bool head_take_start(gw_bytes_t *header, gw_head_t *head, head_take_t *take) {
    uint64_t tseq;
    return SKIP(header, "{\"v\":1,\"writer\":\"") && head_take_id(header, head->id) &&
            SKIP(header, "\",\"seq\":") && take(header, &head->seq) &&
            SKIP(header, ",\"tseq\":") && take(header, &tseq) && SKIP(header, ",\"t_ns\":") &&
            head_take_number(header, &head->t_ns);
}

static bool head_parse_own_header(gw_bytes_t header, gw_head_t *head) {
    return head_take_start(&header, head, head_take_number) && head->seq &&
            head->t_ns <= INT64_MAX;
}

/* As Header::START in lib/godwit/logger/wire/header.rb. */
bool gw_head_own_seq(gw_bytes_t header, uint64_t *seq) {
    gw_head_t head;
    if (!head_take_start(&header, &head, head_take_count) || !SKIP(&header, ",")) return false;
    *seq = head.seq;
    return true;
}

typedef struct {
    gw_head_t *head;
    uint64_t tseq;
    bool id, seq, counted, timed; /* which members are there and valid */
} members_t;

static void head_take_member(
        void *argument, const char *key, size_t key_size, const char *value, size_t size) {
    members_t *members = argument;
    gw_bytes_t text = {value, size};
    if (key_size == 6 && memcmp(key, "writer", 6) == 0) {
        members->id = SKIP(&text, "\"") && head_take_id(&text, members->head->id) &&
                SKIP(&text, "\"") && !text.size;
    } else if (key_size == 3 && memcmp(key, "seq", 3) == 0) {
        members->seq =
                head_take_number(&text, &members->head->seq) && members->head->seq && !text.size;
    } else if (key_size == 4 && memcmp(key, "tseq", 4) == 0) {
        members->counted = head_take_number(&text, &members->tseq) && members->tseq && !text.size;
    } else if (key_size == 4 && memcmp(key, "t_ns", 4) == 0) {
        members->timed = head_take_number(&text, &members->head->t_ns) &&
                members->head->t_ns <= INT64_MAX && !text.size;
    }
}

/* Another program may write the four members in another order, with blanks between them. */
bool gw_head_parse(gw_bytes_t topic, gw_bytes_t header, gw_head_t *head) {
    members_t members = {.head = head};
    if (!head_parse_topic(topic, head)) return false;
    if (head_parse_own_header(header, head)) return true;
    return gw_json_members(header.data, header.size, head_take_member, &members) && members.id &&
            members.seq && members.counted && members.timed;
}

/* A line of Ruby's Logger begins with its level's first letter. */
int gw_head_level_of_line(gw_bytes_t line) {
    for (int level = 0; level < GW_LOG_LEVELS; level++) {
        if (line.size > 3 && line.data[0] == labels[level][0] &&
                memcmp(line.data + 1, ", [", 3) == 0)
            return level;
    }
    return GW_LOG_LEVELS - 1;
}
