/* JSON.parse and JSON.generate, by jansson. */
#include "edge.h"
#include <jansson.h>

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

static void json_add(mrb_state *mrb, json_t *parent, const char *key, mrb_value value, int depth);

typedef struct {
    json_t *json;
    int depth;
} json_hash_t;

static int json_pair(mrb_state *mrb, mrb_value key, mrb_value value, void *data) {
    json_hash_t *hash = data;
    int arena = mrb_gc_arena_save(mrb);
    mrb_value name = mrb_obj_as_string(mrb, key);
    if (strlen(RSTRING_CSTR(mrb, name)) != (size_t)RSTRING_LEN(name))
        json_raise("GeneratorError", "NUL in a key", -1);
    json_add(mrb, hash->json, RSTRING_CSTR(mrb, name), value, hash->depth + 1);
    mrb_gc_arena_restore(mrb, arena);
    return 0;
}

/* NULL: JSON has no form for it. What jansson does not know writes itself by `to_json`. */
static json_t *json_make(mrb_state *mrb, mrb_value value) {
    if (mrb_hash_p(value)) return json_object();
    if (mrb_array_p(value)) return json_array();
    if (mrb_integer_p(value)) return json_integer(mrb_integer(value));
    if (mrb_float_p(value)) return json_real(mrb_float(value));
    if (mrb_nil_p(value)) return json_null();
    if (mrb_true_p(value) || mrb_false_p(value)) return json_boolean(mrb_true_p(value));
    if (mrb_symbol_p(value)) value = mrb_sym_str(mrb, mrb_symbol(value));
    if (mrb_string_p(value)) return json_stringn(RSTRING_PTR(value), (size_t)RSTRING_LEN(value));
    mrb_value text = mrb_funcall(mrb, value, "to_json", 0);
    if (!mrb_string_p(text)) return NULL;
    return json_loadb(RSTRING_PTR(text), (size_t)RSTRING_LEN(text), JSON_DECODE_ANY, NULL);
}

static const char *json_why(mrb_state *mrb, mrb_value value) {
    if (mrb_float_p(value)) return "JSON has no NaN and no Infinity";
    if (mrb_obj_is_kind_of(mrb, value, mrb->integer_class))
        return "an Integer has more than 64 bits: generate its to_s";
    return "a String is not valid UTF-8, or to_json gave no JSON";
}

/* Adds the value to an Array, or to an object if there is a key. An error leaves nothing behind,
 * since each value belongs to its parent at once. */
static void json_add(mrb_state *mrb, json_t *parent, const char *key, mrb_value value, int depth) {
    if (depth > JSON_DEPTH_MOST)
        json_raise("GeneratorError", "more than 100 levels, or an object in itself", -1);
    json_t *json = json_make(mrb, value);
    int failed = key ? json_object_set_new(parent, key, json) : json_array_append_new(parent, json);
    if (failed)
        json_raise("GeneratorError", json_why(mrb, value), -1);
    json_hash_t hash = {json, depth};
    if (mrb_hash_p(value)) mrb_hash_foreach(mrb, mrb_hash_ptr(value), json_pair, &hash);
    for (mrb_int i = 0; mrb_array_p(value) && i < RARRAY_LEN(value); i++) {
        int arena = mrb_gc_arena_save(mrb);
        json_add(mrb, json, NULL, RARRAY_PTR(value)[i], depth + 1);
        mrb_gc_arena_restore(mrb, arena);
    }
}

typedef struct {
    mrb_value value;
    json_t *all; /* an Array with the value */
} json_root_t;

static mrb_value json_dump(mrb_state *mrb, void *data) {
    json_root_t *root = data;
    json_add(mrb, root->all, NULL, root->value, 0);
    char *text = json_dumps(json_array_get(root->all, 0), JSON_ENCODE_ANY | JSON_COMPACT |
            JSON_REAL_PRECISION(JSON_DIGITS));
    mrb_value result = mrb_str_new_cstr(mrb, text);
    free(text);
    return result;
}

/* JSON.generate(value) */
static mrb_value json_generate(mrb_state *mrb, mrb_value self) {
    json_root_t root = {.all = json_array()};
    mrb_bool failed = FALSE;
    mrb_get_args(mrb, "o", &root.value);
    mrb_value text = mrb_protect_error(mrb, json_dump, &root, &failed);
    json_decref(root.all);
    if (failed) mrb_exc_raise(mrb, text);
    return text;
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
