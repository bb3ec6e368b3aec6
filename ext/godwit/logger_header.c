/* Reads and writes a record's topic and header, like lib/godwit/logger/wire/header.rb. The proxy's
 * loop calls gw_identity_parse and gw_line_level without the GVL, so these two functions use no
 * Ruby object and need no lock. The methods need the GVL. */
#include "logger.h"
#include <ruby/encoding.h>

enum { DIGITS = 21, PIECES = 15 };

static const char *const labels[GW_LOG_LEVELS] = GW_LOG_LABELS;
static const char start_text[] = "{\"v\":1,\"writer\":\"";

/* Removes the word from the front of the text. Returns false if the text begins otherwise. */
static bool header_skip(gw_bytes_t *text, const char *word, size_t size) {
    if (text->size < size || memcmp(text->data, word, size) != 0) return false;
    text->data += size;
    text->size -= size;
    return true;
}

#define SKIP(text, word) header_skip(text, word, sizeof word - 1)

/* Removes the name up to the first dot, and the dot, from the front of the text. */
static bool header_cut_name(gw_bytes_t *text, gw_bytes_t *name) {
    const char *dot = text->size ? memchr(text->data, '.', text->size) : NULL;
    if (!dot) return false;
    *name = (gw_bytes_t){text->data, dot - text->data};
    text->size -= name->size + 1;
    text->data = dot + 1;
    return true;
}

static bool header_cut_number(gw_bytes_t *text, uint64_t *number) {
    int digits = 0;
    for (*number = 0; text->size && *text->data >= '0' && *text->data <= '9';
            text->data++, text->size--) {
        if (++digits > GW_LOG_DIGITS) return false;
        *number = 10 * *number + (*text->data - '0');
    }
    return digits > 0;
}

/* Removes a number of at least 1, without a leading zero, from the front of the text. */
static bool header_cut_count(gw_bytes_t *text, uint64_t *number) {
    return text->size && *text->data != '0' && header_cut_number(text, number);
}

static int header_nibble(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

static bool header_cut_id(gw_bytes_t *text, unsigned char *id) {
    if (text->size < GW_ID_HEX) return false;
    for (int i = 0; i < GW_LOG_ID_BYTES; i++) {
        int high = header_nibble(text->data[2 * i]), low = header_nibble(text->data[2 * i + 1]);
        if (high < 0 || low < 0) return false;
        id[i] = high << 4 | low;
    }
    text->data += GW_ID_HEX;
    text->size -= GW_ID_HEX;
    return true;
}

/* Removes the members up to t_ns from a header whose members have Godwit's own order. */
static bool header_cut_start(gw_bytes_t *header, gw_identity_t *identity) {
    return SKIP(header, start_text) && header_cut_id(header, identity->id) &&
            SKIP(header, "\",\"seq\":") && header_cut_count(header, &identity->seq) &&
            SKIP(header, ",\"tseq\":") && header_cut_count(header, &identity->tseq) &&
            SKIP(header, ",\"t_ns\":") && header_cut_number(header, &identity->t_ns) &&
            SKIP(header, ",");
}

/* ---- functions for the proxy's loop ---- */

static bool header_parse_topic(gw_bytes_t topic, gw_identity_t *identity) {
    gw_bytes_t label;
    if (!header_cut_name(&topic, &label) || !header_cut_name(&topic, &identity->prog) ||
            !header_cut_name(&topic, &identity->host) || topic.size)
        return false;
    for (identity->level = 0; identity->level < GW_LOG_LEVELS; identity->level++) {
        if (label.size == strlen(labels[identity->level]) &&
                memcmp(label.data, labels[identity->level], label.size) == 0)
            return true;
    }
    return false;
}

static void header_skip_blanks(gw_bytes_t *text) {
    while (text->size && memchr(" \t\r\n", *text->data, 4)) {
        text->data++;
        text->size--;
    }
}

/* Removes the quoted key, the colon after it and the blanks around both from the text's start. */
static bool header_cut_key(gw_bytes_t *text, const char *key, size_t size) {
    header_skip_blanks(text);
    if (!header_skip(text, key, size)) return false;
    header_skip_blanks(text);
    if (!SKIP(text, ":")) return false;
    header_skip_blanks(text);
    return true;
}

#define CUT_KEY(text, key) header_cut_key(text, key, sizeof key - 1)

/* Reads one member of a JSON object. Sets the bit of its key in `found`, or clears the bit if the
 * value is invalid. So the last of several equal keys decides. */
static void header_read_member(gw_bytes_t text, gw_identity_t *identity, unsigned *found) {
    unsigned bit = 0;
    bool valid = false;
    if (CUT_KEY(&text, "\"writer\"")) {
        bit = 1;
        valid = SKIP(&text, "\"") && header_cut_id(&text, identity->id) && SKIP(&text, "\"");
    } else if (CUT_KEY(&text, "\"seq\"")) {
        bit = 2;
        valid = header_cut_count(&text, &identity->seq);
    } else if (CUT_KEY(&text, "\"tseq\"")) {
        bit = 4;
        valid = header_cut_count(&text, &identity->tseq);
    } else if (CUT_KEY(&text, "\"t_ns\"")) {
        bit = 8;
        valid = header_cut_number(&text, &identity->t_ns);
    }
    header_skip_blanks(&text);
    *found = valid && !text.size ? *found | bit : *found & ~bit;
}

/* Returns the last byte of the string that begins at `at`. */
static const char *header_string_end(const char *at, const char *end) {
    for (at++; at < end && *at != '"'; at++)
        if (*at == '\\') at++;
    return at < end ? at : end - 1;
}

/* Reads a header of another program: its members may have another order, and blanks between them.
 * Members besides writer, seq, tseq and t_ns need not be JSON. */
static bool header_parse_any(gw_bytes_t header, gw_identity_t *identity) {
    unsigned found = 0;
    header_skip_blanks(&header);
    if (!SKIP(&header, "{")) return false;
    const char *member = header.data, *end = header.data + header.size;
    int nesting = 1;
    for (const char *at = member; at < end; at++) {
        if (nesting == 1 && (*at == ',' || *at == '}')) {
            header_read_member((gw_bytes_t){member, at - member}, identity, &found);
            member = at + 1;
        }
        if (*at == '"') at = header_string_end(at, end);
        else if (*at == '{' || *at == '[') nesting++;
        else if ((*at == '}' || *at == ']') && !--nesting) break;
    }
    if (nesting) return false;
    header = (gw_bytes_t){member, end - member};
    header_skip_blanks(&header);
    return found == 15 && !header.size;
}

bool gw_identity_parse(gw_bytes_t topic, gw_bytes_t header, gw_identity_t *identity) {
    gw_bytes_t start = header;
    if (!header_parse_topic(topic, identity)) return false;
    return (header_cut_start(&start, identity) || header_parse_any(header, identity)) &&
            identity->t_ns <= INT64_MAX;
}

/* Ruby's Logger begins a line with the first letter of its level; other lines have level ANY. */
int gw_line_level(gw_bytes_t line) {
    for (int level = 0; level < GW_LOG_LEVELS; level++) {
        if (line.size > 3 && line.data[0] == labels[level][0] &&
                memcmp(line.data + 1, ", [", 3) == 0)
            return level;
    }
    return GW_LOG_LEVELS - 1;
}

/* ---- methods ---- */

static bool header_number(VALUE value, uint64_t *number) {
    int sign = rb_integer_pack(value, number, 1, sizeof *number, 0, INTEGER_PACK_NATIVE_BYTE_ORDER);
    return (sign == 0 || sign == 1) && *number < GW_LOG_NUMBERS;
}

/* Another program may have sent an id or numbers that do not fit into an identity. The statistics
 * do not count such a record as its writer's. */
bool gw_identity_of(gw_bytes_t topic, VALUE header, gw_identity_t *identity) {
    Check_Type(header, T_STRUCT);
    VALUE writer = RSTRUCT_GET(header, GW_HEADER_WRITER);
    Check_Type(writer, T_STRING);
    gw_bytes_t id = {RSTRING_PTR(writer), RSTRING_LEN(writer)};
    return header_parse_topic(topic, identity) && header_cut_id(&id, identity->id) && !id.size &&
            header_number(RSTRUCT_GET(header, GW_HEADER_SEQ), &identity->seq) &&
            header_number(RSTRUCT_GET(header, GW_HEADER_TSEQ), &identity->tseq) &&
            header_number(RSTRUCT_GET(header, GW_HEADER_T_NS), &identity->t_ns) &&
            identity->t_ns <= INT64_MAX;
}

/* start(header) => Header, or nil when the header does not begin as Godwit writes it */
static VALUE header_start(VALUE self, VALUE header) {
    gw_identity_t identity;
    uint64_t mono_ns, level, pid;
    Check_Type(header, T_STRING);
    const char *writer = RSTRING_PTR(header) + sizeof start_text - 1;
    gw_bytes_t text = {RSTRING_PTR(header), RSTRING_LEN(header)};
    if (!header_cut_start(&text, &identity)) return Qnil;
    bool more = SKIP(&text, "\"mono_ns\":") && header_cut_number(&text, &mono_ns) &&
            SKIP(&text, ",\"level\":") && header_cut_number(&text, &level) &&
            SKIP(&text, ",\"pid\":") && header_cut_number(&text, &pid) && SKIP(&text, ",");
    VALUE id = rb_enc_interned_str(writer, GW_ID_HEX, rb_utf8_encoding());
    VALUE found = rb_struct_new(self, id, ULL2NUM(identity.seq), ULL2NUM(identity.tseq),
            ULL2NUM(identity.t_ns), more ? ULL2NUM(mono_ns) : Qnil, more ? ULL2NUM(pid) : Qnil);
    RB_GC_GUARD(header);
    return found;
}

static gw_bytes_t header_text(VALUE string) {
    if (NIL_P(string)) return (gw_bytes_t){"", 0};
    Check_Type(string, T_STRING);
    return (gw_bytes_t){RSTRING_PTR(string), RSTRING_LEN(string)};
}

static gw_bytes_t header_digits(VALUE value, char *buffer) {
    long long given = NUM2LL(value);
    unsigned long long number =
            given < 0 ? 0ULL - (unsigned long long)given : (unsigned long long)given;
    int at = DIGITS;
    do buffer[--at] = (char)('0' + number % 10);
    while ((number /= 10) && at > 1);
    if (given < 0) buffer[--at] = '-';
    return (gw_bytes_t){buffer + at, (size_t)(DIGITS - at)};
}

#define LITERAL(text) ((gw_bytes_t){text, sizeof text - 1})

/* pack(header's bytes before the seq, seq, tseq, Header::Common, Entry, text) => packed record */
static VALUE header_pack(
        VALUE self, VALUE before, VALUE seq, VALUE tseq, VALUE common, VALUE entry, VALUE text) {
    char digits[5][DIGITS];
    gw_bytes_t pieces[PIECES] = {
            header_text(before),
            header_digits(seq, digits[0]),
            LITERAL(",\"tseq\":"),
            header_digits(tseq, digits[1]),
            LITERAL(",\"t_ns\":"),
            header_digits(RSTRUCT_GET(entry, GW_ENTRY_T_NS), digits[2]),
            LITERAL(",\"mono_ns\":"),
            header_digits(RSTRUCT_GET(entry, GW_ENTRY_MONO_NS), digits[3]),
            header_text(RSTRUCT_GET(common, GW_COMMON_BEFORE_THREAD)),
            header_digits(RSTRUCT_GET(entry, GW_ENTRY_THREAD), digits[4]),
            header_text(RSTRUCT_GET(common, GW_COMMON_AFTER_THREAD)),
            header_text(RSTRUCT_GET(entry, GW_ENTRY_TAGS)),
            header_text(RSTRUCT_GET(entry, GW_ENTRY_PAYLOAD)),
            header_text(RSTRUCT_GET(entry, GW_ENTRY_ERROR)),
            LITERAL("}"),
    };
    gw_bytes_t topic = header_text(RSTRUCT_GET(common, GW_COMMON_TOPIC));
    VALUE packed = gw_packing_record(topic, pieces, PIECES, header_text(text));
    RB_GC_GUARD(before);
    RB_GC_GUARD(common);
    RB_GC_GUARD(entry);
    RB_GC_GUARD(text);
    return packed;
}

void gw_init_header(VALUE native) {
    VALUE module = rb_define_module_id_under(native, rb_intern("Header"));
    rb_define_method_id(module, rb_intern("start"), header_start, 1);
    rb_define_method_id(module, rb_intern("pack"), header_pack, 6);
    rb_define_method_id(module, rb_intern("payload"), gw_payload, 1);
}
