/* JSON.parse by jansson, and JSON.generate. */
#include "edge.h"
#include <inttypes.h>
#include <jansson.h>
#include <math.h>

/* 14 digits: mruby drops two bits of each Float. */
enum { JSON_DEPTH_MOST = 100, JSON_DIGITS = 14 };

static mrb_noreturn void json_raise(const char *class, const char *text, mrb_int offset) {
    mrb_state *mrb = gw_vm.mrb;
    struct RClass *json = mrb_module_get(mrb, "JSON");
    mrb_value error = mrb_exc_new_str(mrb, mrb_class_get_under(mrb, json, class),
            offset < 0 ? mrb_str_new_cstr(mrb, text)
                       : mrb_format(mrb, "%s, at byte %i", text, offset));
    if (offset >= 0)
        mrb_iv_set(mrb, error, mrb_intern_lit(mrb, "@offset"), mrb_fixnum_value(offset));
    mrb_exc_raise(mrb, error);
}

/* ---- parse ---- */

/* Before jansson parses the text: its values have no offsets, and NUL ends a text for it. */
static void json_check(const char *text, mrb_int size) {
    bool quoted = false;
    for (mrb_int i = 0, depth = 0; i < size; i++) {
        if (!text[i]) json_raise("ParserError", "NUL in the text", i);
        if (text[i] == '"') quoted = !quoted;
        else if (quoted) i += text[i] == '\\';
        else if (text[i] == ']' || text[i] == '}') depth--;
        else if ((text[i] == '[' || text[i] == '{') && ++depth > JSON_DEPTH_MOST)
            json_raise("ParserError", "more than 100 levels", i);
    }
}

static mrb_value json_value(mrb_state *mrb, const json_t *json) {
    int arena = mrb_gc_arena_save(mrb);
    switch (json_typeof(json)) {
    case JSON_OBJECT: {
        mrb_value hash = mrb_hash_new_capa(mrb, (mrb_int)json_object_size(json));
        const char *key;
        json_t *value;
        arena = mrb_gc_arena_save(mrb);
        json_object_foreach((json_t *)json, key, value) {
            mrb_value name = mrb_str_new_cstr(mrb, key);
            mrb_hash_set(mrb, hash, name, json_value(mrb, value));
            mrb_gc_arena_restore(mrb, arena);
        }
        return hash;
    }
    case JSON_ARRAY: {
        size_t count = json_array_size(json);
        mrb_value array = mrb_ary_new_capa(mrb, (mrb_int)count);
        arena = mrb_gc_arena_save(mrb);
        for (size_t i = 0; i < count; i++) {
            mrb_ary_push(mrb, array, json_value(mrb, json_array_get(json, i)));
            mrb_gc_arena_restore(mrb, arena);
        }
        return array;
    }
    case JSON_STRING: return mrb_str_new(mrb, json_string_value(json), json_string_length(json));
    case JSON_INTEGER: return mrb_int_value(mrb, (mrb_int)json_integer_value(json));
    case JSON_REAL: return mrb_float_value(mrb, json_real_value(json));
    case JSON_TRUE: return mrb_true_value();
    case JSON_FALSE: return mrb_false_value();
    default: return mrb_nil_value();
    }
}

static mrb_value json_convert(mrb_state *mrb, void *json) { return json_value(mrb, json); }

/* JSON.parse(text) */
static mrb_value json_parse(mrb_state *mrb, mrb_value self) {
    const char *text;
    mrb_int size;
    json_error_t error;
    mrb_bool failed = FALSE;
    mrb_get_args(mrb, "s", &text, &size);
    json_check(text, size);
    json_t *json = json_loadb(text, (size_t)size, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (!json) json_raise("ParserError", error.text, error.position);
    mrb_value value = mrb_protect_error(mrb, json_convert, json, &failed);
    json_decref(json);
    if (failed) mrb_exc_raise(mrb, value);
    return value;
}

/* ---- generate ---- */

typedef struct {
    mrb_value out;
    int depth;
    bool first;
} json_writer_t;

static void json_put(mrb_state *mrb, mrb_value out, const char *text, size_t size) {
    mrb_str_cat(mrb, out, text, size);
}

/* The length of the UTF-8 character at `at`; 0: it is none. */
static size_t json_character(const unsigned char *at, const unsigned char *end) {
    size_t size = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : 4;
    if (*at > 0xf4 || size > (size_t)(end - at)) return 0;
    for (size_t i = 1; i < size; i++)
        if ((at[i] & 0xc0) != 0x80) return 0;
    if (size < 3) return size;
    unsigned first = *at, second = at[1];
    bool wrong = (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
            (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
    return wrong ? 0 : size;
}

static void json_text(mrb_state *mrb, mrb_value out, const char *text, size_t size) {
    static const char short_forms[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
    const unsigned char *at = (const unsigned char *)text, *end = at + size, *from = at;
    json_put(mrb, out, "\"", 1);
    while (at < end) {
        if (*at >= 0x80) {
            size_t length = json_character(at, end);
            if (!length)
                json_raise("GeneratorError", "a String is not valid UTF-8",
                        (mrb_int)(at - (const unsigned char *)text));
            at += length;
            continue;
        }
        if (*at >= 0x20 && *at != '"' && *at != '\\') {
            at++;
            continue;
        }
        char escape[8] = {'\\'};
        const char *known = *at ? strchr(short_forms, *at) : NULL;
        size_t length = 2;
        if (known) escape[1] = letters[known - short_forms];
        else length = (size_t)snprintf(escape, sizeof escape, "\\u%04x", *at);
        json_put(mrb, out, (const char *)from, (size_t)(at - from));
        json_put(mrb, out, escape, length);
        from = ++at;
    }
    json_put(mrb, out, (const char *)from, (size_t)(at - from));
    json_put(mrb, out, "\"", 1);
}

static void json_write(mrb_state *mrb, json_writer_t *writer, mrb_value value);

static void json_nest(json_writer_t *writer) {
    if (++writer->depth > JSON_DEPTH_MOST)
        json_raise("GeneratorError", "more than 100 levels, or an object in itself", -1);
}

static int json_pair(mrb_state *mrb, mrb_value key, mrb_value value, void *data) {
    json_writer_t *writer = data;
    int arena = mrb_gc_arena_save(mrb);
    if (!writer->first) json_put(mrb, writer->out, ",", 1);
    mrb_value name = mrb_obj_as_string(mrb, key);
    json_text(mrb, writer->out, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
    json_put(mrb, writer->out, ":", 1);
    json_write(mrb, writer, value);
    writer->first = false;
    mrb_gc_arena_restore(mrb, arena);
    return 0;
}

static void json_number(mrb_state *mrb, mrb_value out, double number) {
    char text[32];
    if (!isfinite(number)) json_raise("GeneratorError", "JSON has no NaN and no Infinity", -1);
    int size = snprintf(text, sizeof text - 2, "%.*g", JSON_DIGITS, number);
    if (!strpbrk(text, ".e")) size += sprintf(text + size, ".0");
    json_put(mrb, out, text, (size_t)size);
}

/* What JSON does not know writes itself by `to_json`. */
static void json_other(mrb_state *mrb, mrb_value out, mrb_value value) {
    mrb_value text = mrb_funcall(mrb, value, "to_json", 0);
    if (!mrb_string_p(text)) json_raise("GeneratorError", "to_json gave no String", -1);
    json_put(mrb, out, RSTRING_PTR(text), (size_t)RSTRING_LEN(text));
}

static void json_write(mrb_state *mrb, json_writer_t *writer, mrb_value value) {
    mrb_value out = writer->out;
    if (mrb_string_p(value)) {
        json_text(mrb, out, RSTRING_PTR(value), (size_t)RSTRING_LEN(value));
    } else if (mrb_hash_p(value)) {
        json_nest(writer);
        json_put(mrb, out, "{", 1);
        writer->first = true;
        mrb_hash_foreach(mrb, mrb_hash_ptr(value), json_pair, writer);
        json_put(mrb, out, "}", 1);
        writer->first = false;
        writer->depth--;
    } else if (mrb_array_p(value)) {
        json_nest(writer);
        int arena = mrb_gc_arena_save(mrb);
        json_put(mrb, out, "[", 1);
        for (mrb_int i = 0; i < RARRAY_LEN(value); i++) {
            if (i) json_put(mrb, out, ",", 1);
            json_write(mrb, writer, RARRAY_PTR(value)[i]);
            mrb_gc_arena_restore(mrb, arena); /* of `to_json` */
        }
        json_put(mrb, out, "]", 1);
        writer->depth--;
    } else if (mrb_integer_p(value)) {
        char text[24];
        json_put(mrb, out, text, (size_t)sprintf(text, "%" PRId64, (int64_t)mrb_integer(value)));
    } else if (mrb_float_p(value)) json_number(mrb, out, mrb_float(value));
    else if (mrb_nil_p(value)) json_put(mrb, out, "null", 4);
    else if (mrb_true_p(value)) json_put(mrb, out, "true", 4);
    else if (mrb_false_p(value)) json_put(mrb, out, "false", 5);
    else if (mrb_symbol_p(value)) {
        mrb_int size;
        const char *name = mrb_sym_name_len(mrb, mrb_symbol(value), &size);
        json_text(mrb, out, name, (size_t)size);
    } else json_other(mrb, out, value);
}

/* JSON.generate(value) */
static mrb_value json_generate(mrb_state *mrb, mrb_value self) {
    mrb_value value;
    mrb_get_args(mrb, "o", &value);
    json_writer_t writer = {.out = mrb_str_new_capa(mrb, 128)};
    json_write(mrb, &writer, value);
    return writer.out;
}

void gw_json_init(mrb_state *mrb) {
    struct RClass *json = mrb_define_module(mrb, "JSON");
    struct RClass *error =
            mrb_define_class_under(mrb, json, "JSONError", mrb_class_get(mrb, "StandardError"));
    mrb_define_class_under(mrb, json, "ParserError", error);
    mrb_define_class_under(mrb, json, "GeneratorError", error);
    mrb_define_class_method(mrb, json, "parse", json_parse, MRB_ARGS_REQ(1));
    mrb_define_class_method(mrb, json, "generate", json_generate, MRB_ARGS_REQ(1));
}
