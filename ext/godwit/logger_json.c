/* The members of a JSON object, for the proxy's loop: no function touches Ruby or needs a lock. The
 * parser checks the grammar of RFC 8259, but not UTF-8. */
#include "logger.h"

typedef struct {
    const char *at, *end;
} cursor_t;

static void json_blanks(cursor_t *text) {
    while (text->at < text->end && strchr(" \t\r\n", *text->at) && *text->at) text->at++;
}

static bool json_character(cursor_t *text, char expected) {
    if (text->at == text->end || *text->at != expected) return false;
    text->at++;
    return true;
}

/* Skips blanks, then the expected character. */
static bool json_symbol(cursor_t *text, char expected) {
    json_blanks(text);
    return json_character(text, expected);
}

static bool json_word(cursor_t *text, const char *expected) {
    size_t size = strlen(expected);
    if ((size_t)(text->end - text->at) < size || memcmp(text->at, expected, size) != 0)
        return false;
    text->at += size;
    return true;
}

static bool json_digits(cursor_t *text) {
    const char *start = text->at;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') text->at++;
    return text->at > start;
}

static bool json_number(cursor_t *text) {
    json_character(text, '-');
    if (!json_character(text, '0') && !json_digits(text)) return false;
    if (json_character(text, '.') && !json_digits(text)) return false;
    if (!json_character(text, 'e') && !json_character(text, 'E')) return true;
    if (!json_character(text, '+')) json_character(text, '-');
    return json_digits(text);
}

static bool json_escape(cursor_t *text) {
    if (text->at == text->end) return false;
    char kind = *text->at++;
    if (kind != 'u') return kind && strchr("\"\\/bfnrt", kind);
    for (int i = 0; i < 4; i++, text->at++) {
        if (text->at == text->end || !*text->at || !strchr("0123456789abcdefABCDEF", *text->at))
            return false;
    }
    return true;
}

static bool json_string(cursor_t *text) {
    if (!json_character(text, '"')) return false;
    while (text->at < text->end) {
        unsigned char byte = (unsigned char)*text->at++;
        if (byte == '"') return true;
        if (byte < 0x20 || (byte == '\\' && !json_escape(text))) return false;
    }
    return false;
}

static bool json_value(cursor_t *text, int nesting);

static bool json_member(cursor_t *text, int nesting, gw_json_member_t *found, void *argument) {
    const char *key = text->at;
    if (!json_string(text)) return false;
    size_t key_size = text->at - key;
    if (!json_symbol(text, ':')) return false;
    json_blanks(text);
    const char *value = text->at;
    if (!json_value(text, nesting)) return false;
    if (found) found(argument, key + 1, key_size - 2, value, text->at - value);
    return true;
}

/* Reads an object or an array. */
static bool json_list(cursor_t *text, int nesting, gw_json_member_t *found, void *argument) {
    bool object = *text->at++ == '{';
    char close = object ? '}' : ']';
    if (json_symbol(text, close)) return true;
    do {
        json_blanks(text);
        if (!(object ? json_member(text, nesting, found, argument) : json_value(text, nesting)))
            return false;
    } while (json_symbol(text, ','));
    return json_symbol(text, close);
}

static bool json_value(cursor_t *text, int nesting) {
    if (text->at == text->end) return false;
    switch (*text->at) {
    case '"': return json_string(text);
    case '{':
    case '[': return nesting < GW_LOG_NESTING && json_list(text, nesting + 1, NULL, NULL);
    case 't': return json_word(text, "true");
    case 'f': return json_word(text, "false");
    case 'n': return json_word(text, "null");
    default: return json_number(text);
    }
}

bool gw_json_members(const char *data, size_t size, gw_json_member_t *found, void *argument) {
    cursor_t text = {data, data + size};
    json_blanks(&text);
    if (text.at == text.end || *text.at != '{' || !json_list(&text, 1, found, argument))
        return false;
    json_blanks(&text);
    return text.at == text.end;
}
