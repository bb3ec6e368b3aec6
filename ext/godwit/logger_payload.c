/* The payload in a record's header, as JSON. All functions need the GVL. */
#include "logger.h"
#include <ruby/encoding.h>
#include <math.h>

enum { LONGEST = 2048 /* most bytes of a field; longer ones are made in Ruby */ };

typedef struct {
    char bytes[LONGEST];
    size_t size;
    bool refused;
} field_t;

static bool payload_put(field_t *field, const char *data, size_t size) {
    if (size > sizeof field->bytes - field->size) return false;
    memcpy(field->bytes + field->size, data, size);
    field->size += size;
    return true;
}

static bool payload_put_byte(field_t *field, char byte) { return payload_put(field, &byte, 1); }

static bool payload_put_escape(field_t *field, unsigned char byte) {
    static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";
    char text[7];
    for (const char *at = letters; *at; at += 2) {
        if (byte == (unsigned char)at[0]) return payload_put(field, (char[]){'\\', at[1]}, 2);
    }
    snprintf(text, sizeof text, "\\u%04x", byte);
    return payload_put(field, text, sizeof text - 1);
}

static bool payload_put_text(field_t *field, VALUE text) {
    int code = rb_enc_str_coderange(text);
    if (code != ENC_CODERANGE_7BIT &&
            (code != ENC_CODERANGE_VALID || rb_enc_get_index(text) != rb_utf8_encindex()))
        return false;
    const char *at = RSTRING_PTR(text), *end = at + RSTRING_LEN(text), *plain = at;
    if (!payload_put_byte(field, '"')) return false;
    for (; at < end; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte >= 0x20 && byte != '"' && byte != '\\') continue;
        if (!payload_put(field, plain, at - plain) || !payload_put_escape(field, byte))
            return false;
        plain = at + 1;
    }
    return payload_put(field, plain, end - plain) && payload_put_byte(field, '"');
}

/* Returns whether the value is a String of Ruby's own class: other objects may have a to_json of
 * their own. */
static bool payload_own_string(VALUE value) {
    return RB_TYPE_P(value, T_STRING) && RBASIC_CLASS(value) == rb_cString;
}

static bool payload_put_value(field_t *field, VALUE value) {
    if (FIXNUM_P(value)) {
        char digits[24];
        return payload_put(field, digits, snprintf(digits, sizeof digits, "%ld", FIX2LONG(value)));
    }
    if (NIL_P(value)) return payload_put(field, "null", 4);
    if (value == Qtrue) return payload_put(field, "true", 4);
    if (value == Qfalse) return payload_put(field, "false", 5);
    if (RB_SYMBOL_P(value)) return payload_put_text(field, rb_sym2str(value));
    if (payload_own_string(value)) return payload_put_text(field, value);
    if (!RB_FLOAT_TYPE_P(value) || !isfinite(RFLOAT_VALUE(value))) return false;
    VALUE text = rb_funcall(value, rb_intern("to_s"), 0);
    bool put =
            RB_TYPE_P(text, T_STRING) && payload_put(field, RSTRING_PTR(text), RSTRING_LEN(text));
    RB_GC_GUARD(text);
    return put;
}

static int payload_put_pair(VALUE key, VALUE value, VALUE argument) {
    field_t *field = (field_t *)argument;
    bool put = field->bytes[field->size - 1] == '{' || payload_put_byte(field, ',');
    if (put && RB_SYMBOL_P(key)) key = rb_sym2str(key);
    put = put && payload_own_string(key) && payload_put_text(field, key) &&
            payload_put_byte(field, ':') && payload_put_value(field, value);
    field->refused = !put;
    return put ? ST_CONTINUE : ST_STOP;
}

/* payload(hash) => `,"payload":` and the Hash in JSON; nil: Ruby must make the JSON, since the Hash
 * is long or has other values than numbers, texts, true, false and nil */
VALUE gw_payload(VALUE self, VALUE hash) {
    field_t field = {.size = 0};
    if (!RB_TYPE_P(hash, T_HASH) || RBASIC_CLASS(hash) != rb_cHash) return Qnil;
    payload_put(&field, ",\"payload\":{", 12);
    rb_hash_foreach(hash, payload_put_pair, (VALUE)&field);
    if (field.refused || !payload_put_byte(&field, '}')) return Qnil;
    return rb_utf8_str_new(field.bytes, field.size);
}
