/* Godwit::Ledger: what a broadcaster remembers of the records that pass through its proxy: an account for each writer, and the last of
 * them. The proxy's loop writes into it without the GVL; Ruby reads copies. One mutex guards all of it. It is held for a fraction of a
 * microsecond by the loop, for a memcpy by a reader, and nobody who holds it waits for the GVL. After a fork nobody takes it. */
#include "godwit.h"
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

typedef struct gw_ledger {
    pthread_mutex_t mutex;
    account_t *accounts;           /* owned; `writers` of them */
    uint32_t *buckets;             /* owned; a power of two, twice `capacity` */
    uint32_t writers, capacity, most_writers, newest, oldest;
    uint64_t seed, other_seed;     /* so that nobody can aim at one bucket */
    slot_t *slots;                 /* owned: a ring of `most`, the oldest at `first_slot` */
    char *arena;                   /* owned: a ring of bytes, written at `head` */
    size_t most, first_slot, kept, arena_size, head;
    uint64_t messages, bytes, records, plain, foreign, lost, late, forgotten, levels[LEVELS];
    unsigned generation;
    bool open;
} gw_ledger_t;

static const char *const labels[LEVELS] = {"DEBUG", "INFO", "WARN", "ERROR", "FATAL", "ANY"};

/* ---- memory ---- */

static void
ledger_free(void *pointer)
{
    gw_ledger_t *ledger = pointer;
    if (ledger->open && ledger->generation == atomic_load(&gw_generation)) pthread_mutex_destroy(&ledger->mutex);
    free(ledger->accounts);
    free(ledger->buckets);
    free(ledger->slots);
    free(ledger->arena);
    xfree(ledger);
}

static size_t
ledger_size(const void *pointer)
{
    const gw_ledger_t *ledger = pointer;
    return sizeof *ledger + ledger->capacity * (sizeof(account_t) + 2 * sizeof(uint32_t)) + ledger->most * sizeof(slot_t) + ledger->arena_size;
}

/* It holds no VALUE: nothing to mark or to move. */
static const rb_data_type_t ledger_type = {
    .wrap_struct_name = "Godwit::Ledger",
    .function = {.dmark = NULL, .dfree = ledger_free, .dsize = ledger_size, .dcompact = NULL},
    .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE
ledger_alloc(VALUE class)
{
    gw_ledger_t *ledger;
    return TypedData_Make_Struct(class, gw_ledger_t, &ledger_type, ledger);
}

gw_ledger_t *
gw_ledger_get(VALUE self, const char *operation)
{
    gw_ledger_t *ledger = rb_check_typeddata(self, &ledger_type);
    if (!ledger->open) rb_raise(rb_eRuntimeError, "this ledger was never opened");
    if (ledger->generation != atomic_load(&gw_generation)) gw_raise_forked(operation, self);
    return ledger;
}

/* ---- parsing; from here on to gw_ledger_note nothing may touch Ruby ---- */

/* Takes a word off the front. */
static bool
skip(bytes_t *text, const char *word, size_t size)
{
    if (text->size < size || memcmp(text->data, word, size) != 0) return false;
    text->data += size;
    text->size -= size;
    return true;
}

/* Takes a part that ends in a dot off the front. */
static bool
take_part(bytes_t *text, bytes_t *part)
{
    const char *dot = text->size ? memchr(text->data, '.', text->size) : NULL;
    if (!dot) return false;
    *part = (bytes_t){text->data, dot - text->data};
    text->size -= part->size + 1;
    text->data = dot + 1;
    return true;
}

static bool
take_number(bytes_t *text, uint64_t *number)
{
    int digits = 0;
    for (*number = 0; text->size && *text->data >= '0' && *text->data <= '9'; text->data++, text->size--) {
        if (++digits > DIGITS) return false;
        *number = 10 * *number + (*text->data - '0');
    }
    return digits > 0;
}

static int
nibble(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool
take_id(bytes_t *text, unsigned char *id)
{
    if (text->size < HEX) return false;
    for (int i = 0; i < ID_SIZE; i++) {
        int high = nibble(text->data[2 * i]), low = nibble(text->data[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        id[i] = high << 4 | low;
    }
    text->data += HEX;
    text->size -= HEX;
    return true;
}

static bool
parse_topic(bytes_t topic, head_t *head)
{
    bytes_t label;
    if (!take_part(&topic, &label) || !take_part(&topic, &head->prog) || !take_part(&topic, &head->host) || topic.size) return false;
    for (head->level = 0; head->level < LEVELS; head->level++) {
        if (label.size == strlen(labels[head->level]) && memcmp(label.data, labels[head->level], label.size) == 0) return true;
    }
    return false;
}

#define SKIP(text, word) skip(text, word, sizeof word - 1)

/* A header that begins as Godwit writes it (lib/godwit/logger/record.rb). */
static bool
parse_own_header(bytes_t header, head_t *head)
{
    uint64_t tseq;
    return SKIP(&header, "{\"v\":1,\"writer\":\"") && take_id(&header, head->id) && SKIP(&header, "\",\"seq\":") && take_number(&header, &head->seq) &&
        head->seq && SKIP(&header, ",\"tseq\":") && take_number(&header, &tseq) && SKIP(&header, ",\"t_ns\":") && take_number(&header, &head->t_ns) &&
        head->t_ns <= INT64_MAX;
}

typedef struct {
    head_t *head;
    uint64_t tseq;
    bool id, seq, counted, timed; /* which members were there, and are what they should be */
} members_t;

static void
note_member(void *argument, const char *key, size_t key_size, const char *value, size_t size)
{
    members_t *members = argument;
    bytes_t text = {value, size};
    if (key_size == 6 && memcmp(key, "writer", 6) == 0) {
        members->id = SKIP(&text, "\"") && take_id(&text, members->head->id) && SKIP(&text, "\"") && !text.size;
    }
    else if (key_size == 3 && memcmp(key, "seq", 3) == 0) {
        members->seq = take_number(&text, &members->head->seq) && members->head->seq && !text.size;
    }
    else if (key_size == 4 && memcmp(key, "tseq", 4) == 0) {
        members->counted = take_number(&text, &members->tseq) && members->tseq && !text.size;
    }
    else if (key_size == 4 && memcmp(key, "t_ns", 4) == 0) {
        members->timed = take_number(&text, &members->head->t_ns) && members->head->t_ns <= INT64_MAX && !text.size;
    }
}

/* Any JSON object with these four: another program's keys have another order, and blanks between them. */
static bool
parse_header(bytes_t header, head_t *head)
{
    members_t members = {.head = head};
    return parse_own_header(header, head) ||
        (gw_json_members(header.data, header.size, note_member, &members) && members.id && members.seq && members.counted && members.timed);
}

/* A line of Ruby's Logger begins with its level's first letter. */
static int
level_of_line(bytes_t line)
{
    for (int level = 0; level < LEVELS; level++) {
        if (line.size > 3 && line.data[0] == labels[level][0] && memcmp(line.data + 1, ", [", 3) == 0) return level;
    }
    return LEVELS - 1;
}

/* ---- accounts ---- */

/* Every bit of the result depends on every bit of the number (MurmurHash3's last steps). */
static uint64_t
mix(uint64_t number)
{
    number = (number ^ number >> 33) * UINT64_C(0xFF51AFD7ED558CCD);
    number = (number ^ number >> 33) * UINT64_C(0xC4CEB9FE1A85EC53);
    return number ^ number >> 33;
}

static uint32_t *
bucket(gw_ledger_t *ledger, const unsigned char *id)
{
    uint64_t half, other;
    memcpy(&half, id, sizeof half);
    memcpy(&other, id + sizeof half, sizeof other);
    uint64_t hash = mix(mix(half ^ ledger->seed) ^ other ^ ledger->other_seed);
    return &ledger->buckets[hash & (2 * (uint64_t)ledger->capacity - 1)];
}

static void
unlink_account(gw_ledger_t *ledger, uint32_t place)
{
    account_t *account = &ledger->accounts[place];
    if (account->newer == NONE) ledger->newest = account->older;
    else ledger->accounts[account->newer].older = account->older;
    if (account->older == NONE) ledger->oldest = account->newer;
    else ledger->accounts[account->older].newer = account->newer;
}

static void
link_newest(gw_ledger_t *ledger, uint32_t place)
{
    account_t *account = &ledger->accounts[place];
    account->newer = NONE;
    account->older = ledger->newest;
    if (ledger->newest == NONE) ledger->oldest = place;
    else ledger->accounts[ledger->newest].newer = place;
    ledger->newest = place;
}

/* Both or neither grow. */
static bool
more_accounts(gw_ledger_t *ledger)
{
    uint32_t capacity = ledger->capacity ? 2 * ledger->capacity : FIRST_WRITERS;
    uint32_t *buckets = malloc(2 * (size_t)capacity * sizeof *buckets);
    account_t *accounts = buckets ? realloc(ledger->accounts, capacity * sizeof *accounts) : NULL;
    if (accounts) ledger->accounts = accounts;
    if (!accounts) {
        free(buckets);
        return false;
    }
    free(ledger->buckets);
    ledger->buckets = buckets;
    ledger->capacity = capacity;
    memset(buckets, 0xff, 2 * (size_t)capacity * sizeof *buckets); /* NONE */
    for (uint32_t i = 0; i < ledger->writers; i++) {
        uint32_t *head = bucket(ledger, accounts[i].id);
        accounts[i].chain = *head;
        *head = i;
    }
    return true;
}

/* The one that was idle for longest goes; its numbers stay in the totals. */
static uint32_t
forget_oldest(gw_ledger_t *ledger)
{
    uint32_t place = ledger->oldest, *at = bucket(ledger, ledger->accounts[place].id);
    while (*at != place) at = &ledger->accounts[*at].chain;
    *at = ledger->accounts[place].chain;
    unlink_account(ledger, place);
    ledger->forgotten++;
    return place;
}

static uint8_t
copy_name(char *to, bytes_t from)
{
    uint8_t size = from.size < NAME ? from.size : NAME;
    if (size) memcpy(to, from.data, size);
    return size;
}

/* NULL: no memory. */
static account_t *
account_of(gw_ledger_t *ledger, const head_t *head)
{
    uint32_t place = ledger->capacity ? *bucket(ledger, head->id) : NONE;
    while (place != NONE && memcmp(ledger->accounts[place].id, head->id, ID_SIZE) != 0) place = ledger->accounts[place].chain;
    if (place != NONE) {
        if (place != ledger->newest) {
            unlink_account(ledger, place);
            link_newest(ledger, place);
        }
        return &ledger->accounts[place];
    }
    if (ledger->writers >= ledger->most_writers) place = forget_oldest(ledger);
    else if (ledger->writers < ledger->capacity || more_accounts(ledger)) place = ledger->writers++;
    else return NULL;
    account_t *account = &ledger->accounts[place];
    uint32_t *first = bucket(ledger, head->id);
    memset(account, 0, sizeof *account);
    memcpy(account->id, head->id, ID_SIZE);
    account->first = head->seq;
    account->last = head->seq - 1;
    account->prog_size = copy_name(account->prog, head->prog);
    account->host_size = copy_name(account->host, head->host);
    account->chain = *first;
    *first = place;
    link_newest(ledger, place);
    return account;
}

static void
drop_gap(account_t *account, int at)
{
    account->gap_count--;
    memmove(&account->gaps[at], &account->gaps[at + 1], (account->gap_count - at) * sizeof *account->gaps);
}

static void
add_gap(account_t *account, uint64_t first, uint64_t last)
{
    if (account->gap_count == GAPS) drop_gap(account, 0);
    account->gaps[account->gap_count++] = (gap_t){first, last};
}

/* Whether the number was missing; now it is not. */
static bool
fill_gap(account_t *account, uint64_t number)
{
    int at = 0;
    while (at < account->gap_count && number > account->gaps[at].last) at++;
    gap_t *gap = &account->gaps[at];
    if (at == account->gap_count || number < gap->first) return false;
    if (number == gap->first && number == gap->last) {
        drop_gap(account, at);
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
count_record(gw_ledger_t *ledger, const head_t *head, size_t bytes)
{
    struct timespec now;
    account_t *account = account_of(ledger, head);
    ledger->records++;
    ledger->levels[head->level]++;
    if (!account) return;
    if (head->seq > account->last) {
        uint64_t lost = head->seq - account->last - 1;
        if (lost) add_gap(account, account->last + 1, head->seq - 1);
        account->lost += lost;
        ledger->lost += lost;
        account->last = head->seq;
        account->received++;
    }
    else {
        account->late++;
        ledger->late++;
        if (fill_gap(account, head->seq)) {
            account->lost--;
            ledger->lost--;
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
slot(gw_ledger_t *ledger, size_t index)
{
    return &ledger->slots[(ledger->first_slot + index) % ledger->most];
}

static void
drop_first(gw_ledger_t *ledger)
{
    ledger->first_slot = (ledger->first_slot + 1) % ledger->most;
    ledger->kept--;
}

/* Messages follow one another in the arena; behind the last one stands the oldest, which makes room. One that would fill
 * a quarter of it is not kept. */
static void
keep(gw_ledger_t *ledger, const bytes_t *frames, int count, size_t bytes)
{
    uint32_t header[1 + FRAMES];
    size_t head_size = (1 + count) * sizeof *header, size = head_size + bytes;
    if (!ledger->most || bytes > ledger->arena_size / 4 || size > ledger->arena_size) return;
    if (ledger->head + size > ledger->arena_size) {
        while (ledger->kept && slot(ledger, 0)->offset >= ledger->head) drop_first(ledger); /* what stands up to the end is older than what stands at the start */
        ledger->head = 0;
    }
    while (ledger->kept == ledger->most || (ledger->kept && slot(ledger, 0)->offset >= ledger->head && slot(ledger, 0)->offset < ledger->head + size)) {
        drop_first(ledger);
    }
    char *at = ledger->arena + ledger->head;
    header[0] = count;
    for (int i = 0; i < count; i++) header[1 + i] = frames[i].size;
    memcpy(at, header, head_size);
    at += head_size;
    for (int i = 0; i < count; i++) {
        if (frames[i].size) memcpy(at, frames[i].data, frames[i].size);
        at += frames[i].size;
    }
    *slot(ledger, ledger->kept++) = (slot_t){ledger->head, size};
    ledger->head += size;
}

/* `frames` has the first FRAMES of `count`. */
static void
note(gw_ledger_t *ledger, const bytes_t *frames, int count, size_t bytes)
{
    head_t head;
    pthread_mutex_lock(&ledger->mutex);
    ledger->messages++;
    ledger->bytes += bytes;
    if (count == FRAMES && parse_topic(frames[0], &head) && parse_header(frames[1], &head)) {
        count_record(ledger, &head, bytes);
        keep(ledger, frames, count, bytes);
    }
    else if (count == 1) {
        ledger->plain++;
        ledger->levels[level_of_line(frames[0])]++;
        keep(ledger, frames, count, bytes);
    }
    else {
        ledger->foreign++;
    }
    pthread_mutex_unlock(&ledger->mutex);
}

void
gw_ledger_note(gw_ledger_t *ledger, zmq_msg_t *parts, int count, size_t bytes)
{
    bytes_t frames[FRAMES];
    for (int i = 0; i < count && i < FRAMES; i++) frames[i] = (bytes_t){zmq_msg_data(&parts[i]), zmq_msg_size(&parts[i])};
    note(ledger, frames, count, bytes);
}

/* ---- primitives ---- */

static uint64_t
random_number(void)
{
    return (uint64_t)rb_genrand_ulong_limited(UINT32_MAX) << 32 | rb_genrand_ulong_limited(UINT32_MAX);
}

/* _open(messages to keep, bytes for them, writers to remember) */
static VALUE
ledger_open(VALUE self, VALUE most, VALUE bytes, VALUE writers)
{
    gw_ledger_t *ledger = rb_check_typeddata(self, &ledger_type);
    size_t kept = NUM2SIZET(most), size = kept ? NUM2SIZET(bytes) : 0;
    uint32_t most_writers = NUM2UINT(writers);
    if (ledger->open) rb_raise(rb_eRuntimeError, "this ledger is open already");
    slot_t *slots = kept ? calloc(kept, sizeof *slots) : NULL;
    char *arena = size ? malloc(size) : NULL; /* pages that nobody wrote cost nothing */
    if ((kept && !slots) || (size && !arena) || pthread_mutex_init(&ledger->mutex, NULL) != 0) {
        free(slots);
        free(arena);
        rb_memerror();
    }
    ledger->slots = slots;
    ledger->arena = arena;
    ledger->most = kept;
    ledger->arena_size = size;
    ledger->most_writers = most_writers;
    ledger->newest = ledger->oldest = NONE;
    ledger->seed = random_number();
    ledger->other_seed = random_number();
    ledger->generation = atomic_load(&gw_generation);
    ledger->open = true;
    return self;
}

/* _note(frames): as the loop does it */
static VALUE
ledger_note(VALUE self, VALUE parts)
{
    gw_ledger_t *ledger = gw_ledger_get(self, "note");
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
    note(ledger, frames, (int)count, bytes);
    RB_GC_GUARD(parts);
    return self;
}

/* _messages(most) => the last ones, the oldest first: Arrays of Strings */
static VALUE
ledger_messages(VALUE self, VALUE wanted)
{
    gw_ledger_t *ledger = gw_ledger_get(self, "last");
    size_t most = NUM2SIZET(wanted), used = 0;
    VALUE buffer = rb_str_buf_new(ledger->arena_size);
    char *copy = RSTRING_PTR(buffer);

    pthread_mutex_lock(&ledger->mutex);
    size_t count = ledger->kept < most ? ledger->kept : most;
    for (size_t i = ledger->kept - count; i < ledger->kept; i++) {
        slot_t *one = slot(ledger, i);
        memcpy(copy + used, ledger->arena + one->offset, one->size);
        used += one->size;
    }
    pthread_mutex_unlock(&ledger->mutex);

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
hex(const unsigned char *id)
{
    static const char digits[] = "0123456789abcdef";
    char text[HEX];
    for (int i = 0; i < ID_SIZE; i++) {
        text[2 * i] = digits[id[i] >> 4];
        text[2 * i + 1] = digits[id[i] & 15];
    }
    return rb_usascii_str_new(text, HEX);
}

/* _accounts(most) => of the writers that were heard last, the newest first: [id, prog, host (as in a topic), first, last, received, lost, late,
 * bytes, lag in ns, longest lag, ms since it was heard, records of each level] */
static VALUE
ledger_accounts(VALUE self, VALUE wanted)
{
    gw_ledger_t *ledger = gw_ledger_get(self, "accounts");
    uint32_t most = NUM2UINT(wanted), count = 0;
    if (most > ledger->most_writers) most = ledger->most_writers;
    VALUE buffer = rb_str_buf_new(most * sizeof(account_t));
    account_t *copy = (account_t *)RSTRING_PTR(buffer);

    pthread_mutex_lock(&ledger->mutex);
    for (uint32_t place = ledger->newest; place != NONE && count < most; place = ledger->accounts[place].older) copy[count++] = ledger->accounts[place];
    pthread_mutex_unlock(&ledger->mutex);

    int64_t now = gw_milliseconds_now();
    VALUE accounts = rb_ary_new_capa(count);
    for (uint32_t i = 0; i < count; i++) {
        account_t *one = &copy[i];
        VALUE account = rb_ary_new_from_args(3, hex(one->id), rb_str_new(one->prog, one->prog_size), rb_str_new(one->host, one->host_size));
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

/* _totals => [messages, bytes, records, plain, foreign, lost, late, writers, forgotten, kept, messages of each level] */
static VALUE
ledger_totals(VALUE self)
{
    gw_ledger_t *ledger = gw_ledger_get(self, "totals");
    uint64_t numbers[10 + LEVELS];
    pthread_mutex_lock(&ledger->mutex);
    uint64_t first[] = {ledger->messages, ledger->bytes, ledger->records, ledger->plain, ledger->foreign, ledger->lost, ledger->late, ledger->writers, ledger->forgotten, ledger->kept};
    memcpy(numbers, first, sizeof first);
    memcpy(numbers + 10, ledger->levels, sizeof ledger->levels);
    pthread_mutex_unlock(&ledger->mutex);
    VALUE totals = rb_ary_new_capa(10 + LEVELS);
    for (int i = 0; i < 10 + LEVELS; i++) rb_ary_push(totals, ULL2NUM(numbers[i]));
    return totals;
}

/* _longest_chain => accounts in the fullest bucket */
static VALUE
ledger_longest_chain(VALUE self)
{
    gw_ledger_t *ledger = gw_ledger_get(self, "accounts");
    long longest = 0;
    pthread_mutex_lock(&ledger->mutex);
    for (uint64_t i = 0; i < 2 * (uint64_t)ledger->capacity; i++) {
        long length = 0;
        for (uint32_t place = ledger->buckets[i]; place != NONE; place = ledger->accounts[place].chain) length++;
        if (length > longest) longest = length;
    }
    pthread_mutex_unlock(&ledger->mutex);
    return LONG2FIX(longest);
}

/* Document-class: Godwit::Ledger
 * What a broadcaster remembers of the records that pass through its proxy.
 * @private */
void
gw_init_ledger(void)
{
    VALUE class = rb_define_class_under(gw_mGodwit, "Ledger", rb_cObject);
    rb_define_alloc_func(class, ledger_alloc);
    rb_define_private_method(class, "_open", ledger_open, 3);
    rb_define_private_method(class, "_note", ledger_note, 1);
    rb_define_private_method(class, "_messages", ledger_messages, 1);
    rb_define_private_method(class, "_accounts", ledger_accounts, 1);
    rb_define_private_method(class, "_totals", ledger_totals, 0);
    rb_define_private_method(class, "_longest_chain", ledger_longest_chain, 0);
    rb_funcall(gw_mGodwit, rb_intern("private_constant"), 1, ID2SYM(rb_intern("Ledger")));
}
