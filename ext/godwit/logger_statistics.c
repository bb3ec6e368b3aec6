/* Godwit::Logger::Native::Statistics: what a broadcaster remembers of the records that pass through its
 * proxy: an account for each writer, and the last records. The proxy's loop writes into it without the
 * GVL, under one mutex, which no thread holds while it waits for the GVL. After a fork none takes it. */
#include "proxy.h"
#include <pthread.h>
#include <ruby/random.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LEVELS = 6, ID_SIZE = 16, HEX = 2 * ID_SIZE, NAME = 63, DIGITS = 19, FIRST_WRITERS = 64, FRAMES = 3, GAPS = 8 };
#define NONE UINT32_MAX

typedef struct {
    const char *data; /* borrowed, not ended by NUL */
    size_t size;
} bytes_t;

/* What the head of a record says. */
typedef struct {
    unsigned char id[ID_SIZE];
    uint64_t seq, t_ns;
    bytes_t prog, host; /* as in the topic, escaped */
    int level;
} head_t;

/* Numbers of records that have not come: a record may come after a later one. lib/godwit/logger/gaps.rb is its twin. */
typedef struct {
    uint64_t first, last;
} gap_t;

typedef struct {
    unsigned char id[ID_SIZE];
    uint64_t first, last, received, lost, late, bytes, levels[LEVELS];
    int64_t lag, longest_lag;      /* ns between its clock and ours */
    int64_t heard;                 /* ms, monotonic */
    uint32_t newer, older;         /* places in `accounts`, in the order in which they were heard */
    uint32_t chain;                /* next in the same bucket */
    gap_t gaps[GAPS];              /* ascending */
    uint8_t gap_count, prog_size, host_size;
    char prog[NAME], host[NAME];   /* cut when they are longer */
} account_t;

/* One message that is kept: count, sizes and frames stand together in the arena. */
typedef struct {
    size_t offset, size;
} slot_t;

typedef struct {
    gw_observer_t observer;        /* first: a proxy knows no more of it */
    pthread_mutex_t mutex;
    account_t *accounts;           /* owned; `writers` of them */
    uint32_t *buckets;             /* owned; a power of two, twice `capacity` */
    uint32_t writers, capacity, most_writers, newest, oldest;
    uint64_t seed, other_seed;     /* so that nobody can aim at one bucket */
    slot_t *slots;                 /* owned: a ring of `most`, the oldest at `first_slot` */
    char *arena;                   /* owned: a ring of bytes, written at `head` */
    size_t most, first_slot, kept, arena_size, head;
    uint64_t messages, bytes, records, plain, foreign, lost, late, forgotten, levels[LEVELS];
    bool open;
} statistics_t;

static const char *const labels[LEVELS] = {"DEBUG", "INFO", "WARN", "ERROR", "FATAL", "ANY"};

/* ---- memory ---- */

static void
statistics_free(void *pointer)
{
    statistics_t *statistics = pointer;
    if (statistics->open && statistics->observer.generation == atomic_load(&gw_generation)) pthread_mutex_destroy(&statistics->mutex);
    free(statistics->accounts);
    free(statistics->buckets);
    free(statistics->slots);
    free(statistics->arena);
    xfree(statistics);
}

static size_t
statistics_size(const void *pointer)
{
    const statistics_t *statistics = pointer;
    return sizeof *statistics + statistics->capacity * (sizeof(account_t) + 2 * sizeof(uint32_t)) + statistics->most * sizeof(slot_t) + statistics->arena_size;
}

/* It holds no VALUE: nothing to mark or to move. */
static const rb_data_type_t statistics_type = {
    .wrap_struct_name = "Godwit::Logger::Native::Statistics",
    .function = {.dmark = NULL, .dfree = statistics_free, .dsize = statistics_size, .dcompact = NULL},
    .parent = &gw_observer_type,
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE
statistics_alloc(VALUE class)
{
    statistics_t *statistics;
    return TypedData_Make_Struct(class, statistics_t, &statistics_type, statistics);
}

static statistics_t *
statistics_get(VALUE self, const char *operation)
{
    statistics_t *statistics = rb_check_typeddata(self, &statistics_type);
    if (!statistics->open) rb_raise(rb_eRuntimeError, "these statistics were never opened");
    if (statistics->observer.generation != atomic_load(&gw_generation)) gw_raise_forked(operation, self);
    return statistics;
}

/* ---- parsing; from here on to statistics_observe nothing may touch Ruby ---- */

/* Takes a word off the front. */
static bool
statistics_skip(bytes_t *text, const char *word, size_t size)
{
    if (text->size < size || memcmp(text->data, word, size) != 0) return false;
    text->data += size;
    text->size -= size;
    return true;
}

/* Takes a part that ends in a dot off the front. */
static bool
statistics_take_part(bytes_t *text, bytes_t *part)
{
    const char *dot = text->size ? memchr(text->data, '.', text->size) : NULL;
    if (!dot) return false;
    *part = (bytes_t){text->data, dot - text->data};
    text->size -= part->size + 1;
    text->data = dot + 1;
    return true;
}

static bool
statistics_take_number(bytes_t *text, uint64_t *number)
{
    int digits = 0;
    for (*number = 0; text->size && *text->data >= '0' && *text->data <= '9'; text->data++, text->size--) {
        if (++digits > DIGITS) return false;
        *number = 10 * *number + (*text->data - '0');
    }
    return digits > 0;
}

static int
statistics_nibble(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool
statistics_take_id(bytes_t *text, unsigned char *id)
{
    if (text->size < HEX) return false;
    for (int i = 0; i < ID_SIZE; i++) {
        int high = statistics_nibble(text->data[2 * i]), low = statistics_nibble(text->data[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        id[i] = high << 4 | low;
    }
    text->data += HEX;
    text->size -= HEX;
    return true;
}

static bool
statistics_parse_topic(bytes_t topic, head_t *head)
{
    bytes_t label;
    if (!statistics_take_part(&topic, &label) || !statistics_take_part(&topic, &head->prog) || !statistics_take_part(&topic, &head->host) || topic.size) return false;
    for (head->level = 0; head->level < LEVELS; head->level++) {
        if (label.size == strlen(labels[head->level]) && memcmp(label.data, labels[head->level], label.size) == 0) return true;
    }
    return false;
}

#define SKIP(text, word) statistics_skip(text, word, sizeof word - 1)

/* A header that begins as Godwit writes it (lib/godwit/logger/record.rb). */
static bool
statistics_parse_own_header(bytes_t header, head_t *head)
{
    uint64_t tseq;
    return SKIP(&header, "{\"v\":1,\"writer\":\"") && statistics_take_id(&header, head->id) && SKIP(&header, "\",\"seq\":") && statistics_take_number(&header, &head->seq) &&
        head->seq && SKIP(&header, ",\"tseq\":") && statistics_take_number(&header, &tseq) && SKIP(&header, ",\"t_ns\":") && statistics_take_number(&header, &head->t_ns) &&
        head->t_ns <= INT64_MAX;
}

typedef struct {
    head_t *head;
    uint64_t tseq;
    bool id, seq, counted, timed; /* which members were there, and are what they should be */
} members_t;

static void
statistics_note_member(void *argument, const char *key, size_t key_size, const char *value, size_t size)
{
    members_t *members = argument;
    bytes_t text = {value, size};
    if (key_size == 6 && memcmp(key, "writer", 6) == 0) {
        members->id = SKIP(&text, "\"") && statistics_take_id(&text, members->head->id) && SKIP(&text, "\"") && !text.size;
    }
    else if (key_size == 3 && memcmp(key, "seq", 3) == 0) {
        members->seq = statistics_take_number(&text, &members->head->seq) && members->head->seq && !text.size;
    }
    else if (key_size == 4 && memcmp(key, "tseq", 4) == 0) {
        members->counted = statistics_take_number(&text, &members->tseq) && members->tseq && !text.size;
    }
    else if (key_size == 4 && memcmp(key, "t_ns", 4) == 0) {
        members->timed = statistics_take_number(&text, &members->head->t_ns) && members->head->t_ns <= INT64_MAX && !text.size;
    }
}

/* Any JSON object with these four: another program's keys have another order, and blanks between them. */
static bool
statistics_parse_header(bytes_t header, head_t *head)
{
    members_t members = {.head = head};
    return statistics_parse_own_header(header, head) ||
        (gw_json_members(header.data, header.size, statistics_note_member, &members) && members.id && members.seq && members.counted && members.timed);
}

/* A line of Ruby's Logger begins with its level's first letter. */
static int
statistics_level_of_line(bytes_t line)
{
    for (int level = 0; level < LEVELS; level++) {
        if (line.size > 3 && line.data[0] == labels[level][0] && memcmp(line.data + 1, ", [", 3) == 0) return level;
    }
    return LEVELS - 1;
}

/* ---- accounts ---- */

/* Every bit of the result depends on every bit of the number (MurmurHash3's last steps). */
static uint64_t
statistics_mix(uint64_t number)
{
    number = (number ^ number >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    number = (number ^ number >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return number ^ number >> 33;
}

static uint32_t *
statistics_bucket(statistics_t *statistics, const unsigned char *id)
{
    uint64_t half, other;
    memcpy(&half, id, sizeof half);
    memcpy(&other, id + sizeof half, sizeof other);
    uint64_t hash = statistics_mix(statistics_mix(half ^ statistics->seed) ^ other ^ statistics->other_seed);
    return &statistics->buckets[hash & (2 * (uint64_t)statistics->capacity - 1)];
}

static void
statistics_unlink_account(statistics_t *statistics, uint32_t place)
{
    account_t *account = &statistics->accounts[place];
    if (account->newer == NONE) statistics->newest = account->older;
    else statistics->accounts[account->newer].older = account->older;
    if (account->older == NONE) statistics->oldest = account->newer;
    else statistics->accounts[account->older].newer = account->newer;
}

static void
statistics_link_newest(statistics_t *statistics, uint32_t place)
{
    account_t *account = &statistics->accounts[place];
    account->newer = NONE;
    account->older = statistics->newest;
    if (statistics->newest == NONE) statistics->oldest = place;
    else statistics->accounts[statistics->newest].newer = place;
    statistics->newest = place;
}

/* Both or neither grow. */
static bool
statistics_more_accounts(statistics_t *statistics)
{
    uint32_t capacity = statistics->capacity ? 2 * statistics->capacity : FIRST_WRITERS;
    uint32_t *buckets = malloc(2 * (size_t)capacity * sizeof *buckets);
    account_t *accounts = buckets ? realloc(statistics->accounts, capacity * sizeof *accounts) : NULL;
    if (accounts) statistics->accounts = accounts;
    if (!accounts) {
        free(buckets);
        return false;
    }
    free(statistics->buckets);
    statistics->buckets = buckets;
    statistics->capacity = capacity;
    memset(buckets, 0xff, 2 * (size_t)capacity * sizeof *buckets); /* NONE */
    for (uint32_t i = 0; i < statistics->writers; i++) {
        uint32_t *head = statistics_bucket(statistics, accounts[i].id);
        accounts[i].chain = *head;
        *head = i;
    }
    return true;
}

/* The one that was idle for longest goes; its numbers stay in the totals. */
static uint32_t
statistics_forget_oldest(statistics_t *statistics)
{
    uint32_t place = statistics->oldest, *at = statistics_bucket(statistics, statistics->accounts[place].id);
    while (*at != place) at = &statistics->accounts[*at].chain;
    *at = statistics->accounts[place].chain;
    statistics_unlink_account(statistics, place);
    statistics->forgotten++;
    return place;
}

static uint8_t
statistics_copy_name(char *to, bytes_t from)
{
    uint8_t size = from.size < NAME ? from.size : NAME;
    if (size) memcpy(to, from.data, size);
    return size;
}

/* NULL: no memory. */
static account_t *
statistics_account_of(statistics_t *statistics, const head_t *head)
{
    uint32_t place = statistics->capacity ? *statistics_bucket(statistics, head->id) : NONE;
    while (place != NONE && memcmp(statistics->accounts[place].id, head->id, ID_SIZE) != 0) place = statistics->accounts[place].chain;
    if (place != NONE) {
        if (place != statistics->newest) {
            statistics_unlink_account(statistics, place);
            statistics_link_newest(statistics, place);
        }
        return &statistics->accounts[place];
    }
    if (statistics->writers >= statistics->most_writers) place = statistics_forget_oldest(statistics);
    else if (statistics->writers < statistics->capacity || statistics_more_accounts(statistics)) place = statistics->writers++;
    else return NULL;
    account_t *account = &statistics->accounts[place];
    uint32_t *first = statistics_bucket(statistics, head->id);
    memset(account, 0, sizeof *account);
    memcpy(account->id, head->id, ID_SIZE);
    account->first = head->seq;
    account->last = head->seq - 1;
    account->prog_size = statistics_copy_name(account->prog, head->prog);
    account->host_size = statistics_copy_name(account->host, head->host);
    account->chain = *first;
    *first = place;
    statistics_link_newest(statistics, place);
    return account;
}

static void
statistics_drop_gap(account_t *account, int at)
{
    account->gap_count--;
    memmove(&account->gaps[at], &account->gaps[at + 1], (account->gap_count - at) * sizeof *account->gaps);
}

static void
statistics_add_gap(account_t *account, uint64_t first, uint64_t last)
{
    if (account->gap_count == GAPS) statistics_drop_gap(account, 0);
    account->gaps[account->gap_count++] = (gap_t){first, last};
}

/* Whether the number was missing; now it is not. */
static bool
statistics_fill_gap(account_t *account, uint64_t number)
{
    int at = 0;
    while (at < account->gap_count && number > account->gaps[at].last) at++;
    gap_t *gap = &account->gaps[at];
    if (at == account->gap_count || number < gap->first) return false;
    if (number == gap->first && number == gap->last) {
        statistics_drop_gap(account, at);
    }
    else if (number == gap->last) {
        gap->last--;
    }
    else {
        uint64_t first = gap->first;
        gap->first = number + 1;
        if (number == first || account->gap_count == GAPS) return true; /* no room for the other half */
        memmove(gap + 1, gap, (account->gap_count - at) * sizeof *gap);
        *gap = (gap_t){first, number - 1};
        account->gap_count++;
    }
    return true;
}

static void
statistics_count_record(statistics_t *statistics, const head_t *head, size_t bytes)
{
    struct timespec now;
    account_t *account = statistics_account_of(statistics, head);
    statistics->records++;
    statistics->levels[head->level]++;
    if (!account) return;
    if (head->seq > account->last) {
        uint64_t lost = head->seq - account->last - 1;
        if (lost) statistics_add_gap(account, account->last + 1, head->seq - 1);
        account->lost += lost;
        statistics->lost += lost;
        account->last = head->seq;
        account->received++;
    }
    else {
        account->late++;
        statistics->late++;
        if (statistics_fill_gap(account, head->seq)) {
            account->lost--;
            statistics->lost--;
            account->received++;
        }
    }
    account->bytes += bytes;
    account->levels[head->level]++;
    clock_gettime(CLOCK_REALTIME, &now);
    account->lag = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec - (int64_t)head->t_ns;
    if (account->lag > account->longest_lag) account->longest_lag = account->lag;
    account->heard = gw_milliseconds_now();
}

/* ---- the last messages ---- */

static slot_t *
statistics_slot(statistics_t *statistics, size_t index)
{
    return &statistics->slots[(statistics->first_slot + index) % statistics->most];
}

static void
statistics_drop_first(statistics_t *statistics)
{
    statistics->first_slot = (statistics->first_slot + 1) % statistics->most;
    statistics->kept--;
}

/* Messages follow one another in the arena; behind the last one stands the oldest, which makes room. One that would fill
 * a quarter of it is not kept. */
static void
statistics_keep(statistics_t *statistics, const bytes_t *frames, int count, size_t bytes)
{
    uint32_t header[1 + FRAMES];
    size_t head_size = (1 + count) * sizeof *header, size = head_size + bytes;
    if (!statistics->most || bytes > statistics->arena_size / 4 || size > statistics->arena_size) return;
    if (statistics->head + size > statistics->arena_size) {
        while (statistics->kept && statistics_slot(statistics, 0)->offset >= statistics->head) statistics_drop_first(statistics); /* what stands up to the end is older than what stands at the start */
        statistics->head = 0;
    }
    while (statistics->kept == statistics->most || (statistics->kept && statistics_slot(statistics, 0)->offset >= statistics->head && statistics_slot(statistics, 0)->offset < statistics->head + size)) {
        statistics_drop_first(statistics);
    }
    char *at = statistics->arena + statistics->head;
    header[0] = count;
    for (int i = 0; i < count; i++) header[1 + i] = frames[i].size;
    memcpy(at, header, head_size);
    at += head_size;
    for (int i = 0; i < count; i++) {
        if (frames[i].size) memcpy(at, frames[i].data, frames[i].size);
        at += frames[i].size;
    }
    *statistics_slot(statistics, statistics->kept++) = (slot_t){statistics->head, size};
    statistics->head += size;
}

/* `frames` has the first FRAMES of `count`. */
static void
statistics_record(statistics_t *statistics, const bytes_t *frames, int count, size_t bytes)
{
    head_t head;
    pthread_mutex_lock(&statistics->mutex);
    statistics->messages++;
    statistics->bytes += bytes;
    if (count == FRAMES && statistics_parse_topic(frames[0], &head) && statistics_parse_header(frames[1], &head)) {
        statistics_count_record(statistics, &head, bytes);
        statistics_keep(statistics, frames, count, bytes);
    }
    else if (count == 1) {
        statistics->plain++;
        statistics->levels[statistics_level_of_line(frames[0])]++;
        statistics_keep(statistics, frames, count, bytes);
    }
    else {
        statistics->foreign++;
    }
    pthread_mutex_unlock(&statistics->mutex);
}

static void
statistics_observe(gw_observer_t *observer, zmq_msg_t *parts, int count, size_t bytes)
{
    statistics_t *statistics = (statistics_t *)observer;
    bytes_t frames[FRAMES];
    for (int i = 0; i < count && i < FRAMES; i++) frames[i] = (bytes_t){zmq_msg_data(&parts[i]), zmq_msg_size(&parts[i])};
    statistics_record(statistics, frames, count, bytes);
}

/* A batch goes on as its records. */
static int
statistics_count(const zmq_msg_t *parts, int count)
{
    if (count != 2) return 0;
    return gw_packing_count(zmq_msg_data((zmq_msg_t *)&parts[0]), zmq_msg_size(&parts[0]),
        zmq_msg_data((zmq_msg_t *)&parts[1]), zmq_msg_size(&parts[1]));
}

static int
statistics_next(const zmq_msg_t *batch, size_t *offset, zmq_msg_t *parts)
{
    gw_packed_t record;
    if (!gw_packing_next(zmq_msg_data((zmq_msg_t *)batch), zmq_msg_size(batch), offset, &record)) return 0;
    for (int i = 0; i < FRAMES; i++) {
        if (zmq_msg_init_size(&parts[i], record.sizes[i]) != 0) {
            while (i >= 0) zmq_msg_init(&parts[i--]);
            return 0;
        }
        if (record.sizes[i]) memcpy(zmq_msg_data(&parts[i]), record.frames[i], record.sizes[i]);
    }
    return FRAMES;
}

/* ---- primitives ---- */

static uint64_t
statistics_random_number(void)
{
    return (uint64_t)rb_genrand_ulong_limited(UINT32_MAX) << 32 | rb_genrand_ulong_limited(UINT32_MAX);
}

/* open(messages to keep, bytes for them, writers to remember) */
static VALUE
statistics_open(VALUE self, VALUE most, VALUE bytes, VALUE writers)
{
    statistics_t *statistics = rb_check_typeddata(self, &statistics_type);
    size_t kept = NUM2SIZET(most), size = kept ? NUM2SIZET(bytes) : 0;
    uint32_t most_writers = NUM2UINT(writers);
    if (statistics->open) rb_raise(rb_eRuntimeError, "these statistics are open already");
    slot_t *slots = kept ? calloc(kept, sizeof *slots) : NULL;
    char *arena = size ? malloc(size) : NULL; /* pages that nobody wrote cost nothing */
    if ((kept && !slots) || (size && !arena) || pthread_mutex_init(&statistics->mutex, NULL) != 0) {
        free(slots);
        free(arena);
        rb_memerror();
    }
    statistics->slots = slots;
    statistics->arena = arena;
    statistics->most = kept;
    statistics->arena_size = size;
    statistics->most_writers = most_writers;
    statistics->newest = statistics->oldest = NONE;
    statistics->seed = statistics_random_number();
    statistics->other_seed = statistics_random_number();
    statistics->observer.generation = atomic_load(&gw_generation);
    statistics->observer.observe = statistics_observe;
    statistics->observer.count = statistics_count;
    statistics->observer.next = statistics_next;
    statistics->open = true;
    return self;
}

/* record(frames): as the loop does it */
static VALUE
statistics_record_frames(VALUE self, VALUE parts)
{
    statistics_t *statistics = statistics_get(self, "note");
    bytes_t frames[FRAMES];
    size_t bytes = 0;
    Check_Type(parts, T_ARRAY);
    long count = RARRAY_LEN(parts);
    for (long i = 0; i < count; i++) {
        VALUE part = rb_ary_entry(parts, i);
        Check_Type(part, T_STRING);
        bytes += RSTRING_LEN(part);
        if (i < FRAMES) frames[i] = (bytes_t){RSTRING_PTR(part), RSTRING_LEN(part)};
    }
    statistics_record(statistics, frames, (int)count, bytes);
    RB_GC_GUARD(parts);
    return self;
}

/* messages(most) => the last ones, the oldest first: Arrays of Strings */
static VALUE
statistics_messages(VALUE self, VALUE wanted)
{
    statistics_t *statistics = statistics_get(self, "last");
    size_t most = NUM2SIZET(wanted), used = 0;
    VALUE buffer = rb_str_buf_new(statistics->arena_size);
    char *copy = RSTRING_PTR(buffer);

    pthread_mutex_lock(&statistics->mutex);
    size_t count = statistics->kept < most ? statistics->kept : most;
    for (size_t i = statistics->kept - count; i < statistics->kept; i++) {
        slot_t *one = statistics_slot(statistics, i);
        memcpy(copy + used, statistics->arena + one->offset, one->size);
        used += one->size;
    }
    pthread_mutex_unlock(&statistics->mutex);

    VALUE messages = rb_ary_new_capa(count);
    for (const char *at = copy; count; count--) {
        uint32_t header[1 + FRAMES];
        memcpy(header, at, sizeof *header);
        memcpy(header, at, (1 + header[0]) * sizeof *header);
        at += (1 + header[0]) * sizeof *header;
        VALUE message = rb_ary_new_capa(header[0]);
        for (uint32_t i = 0; i < header[0]; i++) {
            rb_ary_push(message, rb_str_new(at, header[1 + i]));
            at += header[1 + i];
        }
        rb_ary_push(messages, message);
    }
    rb_str_resize(buffer, 0);
    RB_GC_GUARD(buffer);
    return messages;
}

static VALUE
statistics_hex(const unsigned char *id)
{
    static const char digits[] = "0123456789abcdef";
    char text[HEX];
    for (int i = 0; i < ID_SIZE; i++) {
        text[2 * i] = digits[id[i] >> 4];
        text[2 * i + 1] = digits[id[i] & 15];
    }
    return rb_usascii_str_new(text, HEX);
}

/* accounts(most) => of the writers that were heard last, the newest first: [id, prog, host (as in a topic), first, last, received, lost, late,
 * bytes, lag in ns, longest lag, ms since it was heard, records of each level] */
static VALUE
statistics_accounts(VALUE self, VALUE wanted)
{
    statistics_t *statistics = statistics_get(self, "accounts");
    uint32_t most = NUM2UINT(wanted), count = 0;
    if (most > statistics->most_writers) most = statistics->most_writers;
    VALUE buffer = rb_str_buf_new(most * sizeof(account_t));
    account_t *copy = (account_t *)RSTRING_PTR(buffer);

    pthread_mutex_lock(&statistics->mutex);
    for (uint32_t place = statistics->newest; place != NONE && count < most; place = statistics->accounts[place].older) copy[count++] = statistics->accounts[place];
    pthread_mutex_unlock(&statistics->mutex);

    int64_t now = gw_milliseconds_now();
    VALUE accounts = rb_ary_new_capa(count);
    for (uint32_t i = 0; i < count; i++) {
        account_t *one = &copy[i];
        VALUE account = rb_ary_new_from_args(3, statistics_hex(one->id), rb_str_new(one->prog, one->prog_size), rb_str_new(one->host, one->host_size));
        uint64_t numbers[] = {one->first, one->last, one->received, one->lost, one->late, one->bytes};
        int64_t times[] = {one->lag, one->longest_lag, now - one->heard};
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++) rb_ary_push(account, ULL2NUM(numbers[j]));
        for (size_t j = 0; j < sizeof times / sizeof *times; j++) rb_ary_push(account, LL2NUM(times[j]));
        for (int j = 0; j < LEVELS; j++) rb_ary_push(account, ULL2NUM(one->levels[j]));
        rb_ary_push(accounts, account);
    }
    rb_str_resize(buffer, 0);
    RB_GC_GUARD(buffer);
    return accounts;
}

/* totals => [messages, bytes, records, plain, foreign, lost, late, writers, forgotten, kept, messages of each level] */
static VALUE
statistics_totals(VALUE self)
{
    statistics_t *statistics = statistics_get(self, "totals");
    uint64_t numbers[10 + LEVELS];
    pthread_mutex_lock(&statistics->mutex);
    uint64_t first[] = {statistics->messages, statistics->bytes, statistics->records, statistics->plain, statistics->foreign, statistics->lost, statistics->late, statistics->writers, statistics->forgotten, statistics->kept};
    memcpy(numbers, first, sizeof first);
    memcpy(numbers + 10, statistics->levels, sizeof statistics->levels);
    pthread_mutex_unlock(&statistics->mutex);
    VALUE totals = rb_ary_new_capa(10 + LEVELS);
    for (int i = 0; i < 10 + LEVELS; i++) rb_ary_push(totals, ULL2NUM(numbers[i]));
    return totals;
}

/* _longest_chain => accounts in the fullest bucket */
static VALUE
statistics_longest_chain(VALUE self)
{
    statistics_t *statistics = statistics_get(self, "accounts");
    long longest = 0;
    pthread_mutex_lock(&statistics->mutex);
    for (uint64_t i = 0; i < 2 * (uint64_t)statistics->capacity; i++) {
        long length = 0;
        for (uint32_t place = statistics->buckets[i]; place != NONE; place = statistics->accounts[place].chain) length++;
        if (length > longest) longest = length;
    }
    pthread_mutex_unlock(&statistics->mutex);
    return LONG2FIX(longest);
}

void
gw_init_statistics(VALUE native)
{
    VALUE class = rb_define_class_id_under(native, rb_intern("Statistics"), rb_cObject);
    rb_define_alloc_func(class, statistics_alloc);
    rb_define_method_id(class, rb_intern("open"), statistics_open, 3);
    rb_define_method_id(class, rb_intern("record"), statistics_record_frames, 1);
    rb_define_method_id(class, rb_intern("messages"), statistics_messages, 1);
    rb_define_method_id(class, rb_intern("accounts"), statistics_accounts, 1);
    rb_define_method_id(class, rb_intern("totals"), statistics_totals, 0);
    rb_define_private_method(class, "_longest_chain", statistics_longest_chain, 0);
}
