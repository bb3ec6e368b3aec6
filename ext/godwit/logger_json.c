/* A JSON object's members, without Ruby: for what reads headers beside the GVL. It checks the grammar of RFC 8259 but not UTF-8, and
 * keeps nothing. */
#include "godwit.h"
#include <string.h>

enum { MOST_NESTING = 100 }; /* as Ruby's JSON.parse */

typedef struct {
    const char *at, *end;
} cursor_t;

static void
blanks(cursor_t *text)
{
    while (text->at < text->end && strchr(" \t\r\n", *text->at) && *text->at) text->at++;
}

static bool
character(cursor_t *text, char expected)
{
    if (text->at == text->end || *text->at != expected) return false;
    text->at++;
    return true;
}

static bool
word(cursor_t *text, const char *expected)
{
    size_t size = strlen(expected);
    if ((size_t)(text->end - text->at) < size || memcmp(text->at, expected, size) != 0) return false;
    text->at += size;
    return true;
}

static bool
digits(cursor_t *text)
{
    const char *start = text->at;
    while (text->at < text->end && *text->at >= '0' && *text->at <= '9') text->at++;
    return text->at > start;
}

static bool
number(cursor_t *text)
{
    character(text, '-');
    if (!character(text, '0') && !digits(text)) return false;
    if (character(text, '.') && !digits(text)) return false;
    if (!character(text, 'e') && !character(text, 'E')) return true;
    if (!character(text, '+')) character(text, '-');
    return digits(text);
}

static bool
escape(cursor_t *text)
{
    if (text->at == text->end) return false;
    char kind = *text->at++;
    if (kind != 'u') return kind && strchr("\"\\/bfnrt", kind);
    for (int i = 0; i < 4; i++, text->at++) {
        if (text->at == text->end || !*text->at || !strchr("0123456789abcdefABCDEF", *text->at)) return false;
    }
    return true;
}

static bool
string(cursor_t *text)
{
    if (!character(text, '"')) return false;
    while (text->at < text->end) {
        unsigned char byte = (unsigned char)*text->at++;
        if (byte == '"') return true;
        if (byte < 0x20 || (byte == '\\' && !escape(text))) return false;
    }
    return false;
}

static bool value(cursor_t *text, int nesting);

static bool
member(cursor_t *text, int nesting, gw_json_member_t *found, void *argument)
{
    blanks(text);
    const char *key = text->at;
    if (!string(text)) return false;
    size_t key_size = text->at - key;
    blanks(text);
    if (!character(text, ':')) return false;
    blanks(text);
    const char *start = text->at;
    if (!value(text, nesting)) return false;
    if (found) found(argument, key + 1, key_size - 2, start, text->at - start);
    blanks(text);
    return true;
}

static bool
object(cursor_t *text, int nesting, gw_json_member_t *found, void *argument)
{
    if (!character(text, '{')) return false;
    blanks(text);
    if (character(text, '}')) return true;
    do {
        if (!member(text, nesting, found, argument)) return false;
    } while (character(text, ','));
    return character(text, '}');
}

static bool
array(cursor_t *text, int nesting)
{
    if (!character(text, '[')) return false;
    blanks(text);
    if (character(text, ']')) return true;
    do {
        blanks(text);
        if (!value(text, nesting)) return false;
        blanks(text);
    } while (character(text, ','));
    return character(text, ']');
}

static bool
value(cursor_t *text, int nesting)
{
    if (text->at == text->end) return false;
    switch (*text->at) {
    case '"': return string(text);
    case '{': return nesting < MOST_NESTING && object(text, nesting + 1, NULL, NULL);
    case '[': return nesting < MOST_NESTING && array(text, nesting + 1);
    case 't': return word(text, "true");
    case 'f': return word(text, "false");
    case 'n': return word(text, "null");
    default: return number(text);
    }
}

bool
gw_json_members(const char *data, size_t size, gw_json_member_t *found, void *argument)
{
    cursor_t text = {data, data + size};
    blanks(&text);
    if (!object(&text, 1, found, argument)) return false;
    blanks(&text);
    return text.at == text.end;
}
