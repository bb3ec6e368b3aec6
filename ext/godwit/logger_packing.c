/* Godwit::Backend::Native::Packing: packs records into batches (docs/log-wire.md), like
 * lib/godwit/logger/wire/packing.rb. The proxy's loop calls the functions above the line
 * "primitives" without the GVL, so these use no Ruby object. The primitives need the GVL. */
#include "logger.h"
#include <arpa/inet.h>

enum { SIZE = GW_LOG_SIZE_BYTES, SIZES = GW_LOG_PACKED_HEAD_BYTES };

static const char mark_text[] = GW_LOG_BATCH_MARK; /* the first frame of a batch */

/* ---- reads of a batch, without the GVL ---- */

static size_t packing_number(const unsigned char *bytes, int count) {
    size_t number = 0;
    for (int i = 0; i < count; i++) number = number << 8 | bytes[i];
    return number;
}

bool gw_packing_next(const char *data, size_t size, size_t *offset, gw_packed_t *record) {
    const unsigned char *at = (const unsigned char *)data + *offset;
    size_t remaining = size - *offset;
    if (remaining < SIZE + SIZES) return false;
    size_t whole = packing_number(at, SIZE);
    if (whole < SIZES || whole > remaining - SIZE) return false;
    size_t topic = packing_number(at + SIZE, 2), header = packing_number(at + SIZE + 2, 4);
    if (topic > whole - SIZES || header > whole - SIZES - topic) return false;
    const char *start = (const char *)at + SIZE + SIZES;
    *record = (gw_packed_t){
            .frames = {start, start + topic, start + topic + header},
            .sizes = {topic, header, whole - SIZES - topic - header},
    };
    *offset += SIZE + whole;
    return true;
}

int gw_packing_count(const char *mark, size_t mark_size, const char *data, size_t size) {
    size_t offset = 0;
    int count = 0;
    gw_packed_t record;
    if (mark_size != sizeof mark_text - 1 || memcmp(mark, mark_text, mark_size) != 0) return 0;
    while (offset < size) {
        if (!gw_packing_next(data, size, &offset, &record)) return 0;
        count++;
    }
    return count;
}

/* ---- primitives ---- */

static void packing_put_size(char *to, size_t size) {
    uint32_t number = htonl((uint32_t)size);
    memcpy(to, &number, sizeof number);
}

VALUE gw_packing_record(gw_bytes_t topic, const gw_bytes_t *pieces, int count, gw_bytes_t text) {
    size_t header = 0;
    for (int i = 0; i < count; i++) header += pieces[i].size;
    VALUE packed = rb_str_new(NULL, SIZES + topic.size + header + text.size);
    char *at = RSTRING_PTR(packed);
    at[0] = (char)(topic.size >> 8);
    at[1] = (char)topic.size;
    packing_put_size(at + 2, header);
    memcpy(at + SIZES, topic.data, topic.size);
    at += SIZES + topic.size;
    for (int i = 0; i < count; i++) {
        if (pieces[i].size) memcpy(at, pieces[i].data, pieces[i].size);
        at += pieces[i].size;
    }
    memcpy(at, text.data, text.size);
    return packed;
}

/* join(records, from, most) => [batch, the number of its records]. The batch has at most `most`
 * bytes, but at least one record, and ends before an entry that is no String. */
static VALUE packing_join(VALUE self, VALUE records, VALUE from, VALUE most) {
    long first = NUM2LONG(from), last = first;
    size_t bytes = 0, limit = NUM2SIZET(most);
    Check_Type(records, T_ARRAY);
    for (; last < RARRAY_LEN(records); last++) {
        VALUE record = RARRAY_AREF(records, last);
        if (!RB_TYPE_P(record, T_STRING)) break;
        size_t size = SIZE + RSTRING_LEN(record);
        if (last > first && bytes + size > limit) break;
        bytes += size;
    }
    VALUE batch = rb_str_new(NULL, bytes);
    char *to = RSTRING_PTR(batch);
    for (long i = first; i < last; i++) {
        VALUE record = RARRAY_AREF(records, i);
        packing_put_size(to, RSTRING_LEN(record));
        memcpy(to + SIZE, RSTRING_PTR(record), RSTRING_LEN(record));
        to += SIZE + RSTRING_LEN(record);
    }
    return rb_assoc_new(batch, LONG2NUM(last - first));
}

/* split(message) => its records, each an Array of three frames; nil: no batch. Equal topics in a
 * row share one String. */
static VALUE packing_split(VALUE self, VALUE message) {
    if (!RB_TYPE_P(message, T_ARRAY) || RARRAY_LEN(message) != 2) return Qnil;
    VALUE frames[2] = {RARRAY_AREF(message, 0), RARRAY_AREF(message, 1)};
    Check_Type(frames[0], T_STRING);
    Check_Type(frames[1], T_STRING);
    gw_bytes_t batch = {RSTRING_PTR(frames[1]), RSTRING_LEN(frames[1])};
    int count = gw_packing_count(
            RSTRING_PTR(frames[0]), RSTRING_LEN(frames[0]), batch.data, batch.size);
    if (!count) return Qnil;
    VALUE records = rb_ary_new_capa(count), topic = Qnil;
    gw_packed_t record;
    for (size_t offset = 0; gw_packing_next(batch.data, batch.size, &offset, &record);) {
        if (NIL_P(topic) || (size_t)RSTRING_LEN(topic) != record.sizes[0] ||
                memcmp(RSTRING_PTR(topic), record.frames[0], record.sizes[0]) != 0) {
            topic = rb_obj_freeze(rb_str_new(record.frames[0], record.sizes[0]));
        }
        VALUE header = rb_str_new(record.frames[1], record.sizes[1]),
              text = rb_str_new(record.frames[2], record.sizes[2]);
        rb_ary_push(records, rb_ary_new_from_args(3, topic, header, text));
    }
    RB_GC_GUARD(message);
    return records;
}

void gw_init_packing(VALUE native) {
    VALUE module = rb_define_module_id_under(native, rb_intern("Packing"));
    rb_define_method_id(module, rb_intern("join"), packing_join, 3);
    rb_define_method_id(module, rb_intern("split"), packing_split, 1);
}
