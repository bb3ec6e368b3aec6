/* Godwit::Frame: one zmq_msg_t, read in place. A frame never changes; a send or a close ends it.
 * Several Ractors may read a frozen frame without a lock, since a send does not end a frozen frame,
 * only the garbage collector does. The GVL guards a frame that is not frozen. */
#include "frame.h"
#include <ruby/memory_view.h>

typedef struct {
    zmq_msg_t message;     /* owned while `live` */
    gw_pin_t *pin;         /* retained: protects the String with the bytes; NULL: libzmq has them */
    rb_encoding *encoding; /* borrowed: encoding of the Strings made of the frame */
    size_t counted;        /* bytes reported to the garbage collector */
    atomic_int exports;    /* memory views and blocks that use the frame's bytes in place now */
    atomic_flag copying;   /* lock for zmq_msg_copy, which also writes to the copied message */
    bool live;
    bool more;
} gw_frame_t;

static VALUE frame_class;

static void frame_release(gw_frame_t *frame) {
    if (!frame->live) return;
    frame->live = false;
    zmq_msg_close(&frame->message);
    if (frame->pin) gw_pin_release(frame->pin);
    frame->pin = NULL;
    if (frame->counted) rb_gc_adjust_memory_usage(-(ssize_t)frame->counted);
    frame->counted = 0;
}

static void frame_free(void *pointer) {
    frame_release(pointer);
    xfree(pointer);
}

static size_t frame_size(const void *pointer) {
    const gw_frame_t *frame = pointer;
    return sizeof *frame + frame->counted;
}

static const rb_data_type_t frame_type = {
        .wrap_struct_name = "Godwit::Frame",
        /* The type needs no dmark and no dcompact: pin.c marks the String of the frame's pin. */
        .function = {.dfree = frame_free, .dsize = frame_size},
        .flags =
                RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED | RUBY_TYPED_FROZEN_SHAREABLE,
};

static VALUE frame_alloc(VALUE class) {
    gw_frame_t *frame;
    VALUE self = TypedData_Make_Struct(class, gw_frame_t, &frame_type, frame);
    frame->encoding = rb_ascii8bit_encoding();
    return self;
}

static gw_frame_t *frame_get(VALUE self) { return rb_check_typeddata(self, &frame_type); }

static gw_frame_t *frame_live(VALUE self, const char *operation) {
    gw_frame_t *frame = frame_get(self);
    if (RB_UNLIKELY(!frame->live)) gw_raise_named("GoneError", operation, self);
    return frame;
}

static gw_frame_t *frame_unshared(VALUE self, const char *operation) {
    gw_frame_t *frame = frame_live(self, operation);
    if (RB_UNLIKELY(atomic_load(&frame->exports) != 0)) gw_raise(EBUSY, operation, self, Qnil);
    return frame;
}

/* `count`: bytes to report to the garbage collector; 0 for a String's bytes: Ruby reports those. */
static void frame_fill(gw_frame_t *frame, rb_encoding *encoding, size_t count) {
    frame->live = true;
    frame->encoding = encoding;
    frame->more = zmq_msg_more(&frame->message);
    frame->counted = count;
    if (count) rb_gc_adjust_memory_usage(count);
}

bool gw_is_frame(VALUE object) {
    return RB_TYPE_P(object, T_DATA) && RTYPEDDATA_P(object) &&
            RTYPEDDATA_TYPE(object) == &frame_type;
}

/* Returns a new frame, which adopts the message. */
VALUE gw_frame_adopt(zmq_msg_t *message, rb_encoding *encoding) {
    gw_frame_t *frame;
    VALUE self = TypedData_Make_Struct(frame_class, gw_frame_t, &frame_type, frame);
    zmq_msg_init(&frame->message);
    zmq_msg_move(&frame->message, message);
    frame_fill(frame, encoding, zmq_msg_size(&frame->message));
    return self;
}

bool gw_frame_sendable(VALUE self) {
    gw_frame_t *frame = frame_get(self);
    return frame->live && (OBJ_FROZEN(self) || atomic_load(&frame->exports) == 0);
}

void gw_frame_check(VALUE self, const char *operation) {
    if (OBJ_FROZEN(self)) frame_live(self, operation);
    else frame_unshared(self, operation);
}

/* Makes a message with the same bytes; returns an errno. zmq_msg_copy changes a reference count in
 * the copied message, so one thread at a time calls zmq_msg_copy. */
int gw_frame_share(VALUE self, zmq_msg_t *message) {
    gw_frame_t *frame = frame_get(self);
    zmq_msg_init(message);
    gw_spin_lock(&frame->copying);
    int error = zmq_msg_copy(message, &frame->message) == 0 ? 0 : zmq_errno();
    gw_spin_unlock(&frame->copying);
    return error;
}

void gw_frame_sent(VALUE self) {
    if (!OBJ_FROZEN(self)) frame_release(frame_get(self));
}

size_t gw_frame_bytes(VALUE self) { return zmq_msg_size(&frame_get(self)->message); }

int gw_frame_watch(VALUE self, gw_tracker_t *tracker) {
    gw_frame_t *frame = frame_get(self);
    return frame->pin ? gw_pin_watch(frame->pin, tracker) : 0;
}

/* _open(String, threshold): no copy if the String is frozen and has at least `threshold` bytes */
static VALUE frame_open(VALUE self, VALUE data, VALUE threshold) {
    gw_frame_t *frame = frame_get(self);
    Check_Type(data, T_STRING);
    if (frame->live || OBJ_FROZEN(self)) rb_raise(rb_eRuntimeError, "this frame is made already");
    size_t size = RSTRING_LEN(data);
    rb_encoding *encoding = rb_enc_get(data);
    gw_pin_t *pin = NULL;
    int error;
    if (size >= NUM2SIZET(threshold) && gw_can_pin(data)) {
        error = gw_pin_message(&frame->message, data, &pin);
        if (!error) gw_pin_retain(pin);
    } else {
        error = gw_message_init(&frame->message, RSTRING_PTR(data), size);
    }
    if (error) gw_raise(error, "new", self, Qnil);
    frame->pin = pin;
    frame_fill(frame, encoding, pin ? 0 : size);
    RB_GC_GUARD(data);
    return self;
}

static VALUE frame_initialize_copy(VALUE self, VALUE original) {
    gw_frame_t *frame = frame_get(self), *other = frame_live(original, "dup");
    if (self == original) return self;
    rb_check_frozen(self);
    if (frame->live) frame_release(frame_unshared(self, "dup"));
    int error = gw_frame_share(original, &frame->message);
    if (error) gw_raise(error, "dup", self, Qnil);
    if (other->pin) gw_pin_retain(frame->pin = other->pin);
    frame_fill(frame, other->encoding, frame->pin ? 0 : zmq_msg_size(&frame->message));
    frame->more = other->more;
    return self;
}

static VALUE frame_bytesize(VALUE self) {
    return SIZET2NUM(zmq_msg_size(&frame_live(self, "size")->message));
}

/* _slice(start, length, both within the frame) => String of those bytes */
static VALUE frame_slice(VALUE self, VALUE start, VALUE length) {
    gw_frame_t *frame = frame_live(self, "byteslice");
    size_t size = zmq_msg_size(&frame->message), from = NUM2SIZET(start), count = NUM2SIZET(length);
    if (from > size || count > size - from) rb_raise(rb_eRangeError, "outside of the frame");
    VALUE string = rb_str_new((const char *)zmq_msg_data(&frame->message) + from, count);
    RB_GC_GUARD(self);
    return string;
}

static VALUE frame_string(VALUE self) {
    gw_frame_t *frame = frame_live(self, "to_s");
    VALUE string = rb_enc_str_new(
            zmq_msg_data(&frame->message), zmq_msg_size(&frame->message), frame->encoding);
    RB_GC_GUARD(self);
    return string;
}

static VALUE frame_byte(VALUE self, VALUE index) {
    size_t at = NUM2SIZET(index);
    gw_frame_t *frame = frame_live(self, "getbyte");
    if (at >= zmq_msg_size(&frame->message)) rb_raise(rb_eRangeError, "outside of the frame");
    return INT2FIX(((const unsigned char *)zmq_msg_data(&frame->message))[at]);
}

static VALUE frame_end_read(VALUE self) {
    atomic_fetch_sub(&frame_get(self)->exports, 1);
    return Qnil;
}

static VALUE frame_yield_in_place(VALUE self) {
    gw_frame_t *frame = frame_get(self);
    return rb_yield(rb_enc_str_new_static(
            zmq_msg_data(&frame->message), zmq_msg_size(&frame->message), rb_ascii8bit_encoding()));
}

/* _in_place { |String| }: the String has the frame's own bytes, for Ruby methods that only read.
 * The block must not retain the String. No send or close can release the frame during the block. */
static VALUE frame_in_place(VALUE self) {
    gw_frame_t *frame = frame_live(self, "read");
    atomic_fetch_add(&frame->exports, 1);
    return rb_ensure(frame_yield_in_place, self, frame_end_read, self);
}

/* _compare(Frame or String) => -1, 0 or 1, by the order of the bytes */
static VALUE frame_compare(VALUE self, VALUE other) {
    gw_frame_t *frame = frame_live(self, "compare");
    const void *data = zmq_msg_data(&frame->message), *others;
    size_t size = zmq_msg_size(&frame->message), length;
    if (gw_is_frame(other)) {
        gw_frame_t *second = frame_live(other, "compare");
        others = zmq_msg_data(&second->message);
        length = zmq_msg_size(&second->message);
    } else {
        Check_Type(other, T_STRING);
        others = RSTRING_PTR(other);
        length = RSTRING_LEN(other);
    }
    int order = memcmp(data, others, size < length ? size : length);
    if (order == 0) order = (size > length) - (size < length);
    return INT2FIX((order > 0) - (order < 0));
}

static VALUE frame_hash(VALUE self) {
    gw_frame_t *frame = frame_live(self, "hash");
    return ST2FIX(rb_memhash(zmq_msg_data(&frame->message), zmq_msg_size(&frame->message)));
}

static VALUE frame_more_p(VALUE self) { return RBOOL(frame_live(self, "more?")->more); }
static VALUE frame_gone_p(VALUE self) { return RBOOL(!frame_get(self)->live); }

static VALUE frame_property(VALUE self, VALUE name) {
    gw_frame_t *frame = frame_live(self, "property");
    const char *value = zmq_msg_gets(&frame->message, StringValueCStr(name));
    VALUE string = value ? rb_utf8_str_new_cstr(value) : Qnil;
    RB_GC_GUARD(self);
    return string;
}

static VALUE frame_routing_id(VALUE self) {
    gw_frame_t *frame = frame_live(self, "routing_id");
    uint32_t id = gw_draft.available ? gw_draft.msg_routing_id(&frame->message) : 0;
    return id ? UINT2NUM(id) : Qnil;
}

static VALUE frame_group(VALUE self) {
    gw_frame_t *frame = frame_live(self, "group");
    const char *group = gw_draft.available ? gw_draft.msg_group(&frame->message) : NULL;
    VALUE name = group && *group ? rb_enc_str_new_cstr(group, frame->encoding) : Qnil;
    RB_GC_GUARD(self);
    return name;
}

static VALUE frame_encoding(VALUE self) {
    return rb_enc_from_encoding(frame_live(self, "encoding")->encoding);
}

static VALUE frame_close(VALUE self) {
    gw_frame_t *frame = frame_get(self);
    if (!frame->live) return Qnil;
    rb_check_frozen(self);
    frame_release(frame_unshared(self, "close"));
    return Qnil;
}

static bool frame_view_get(VALUE self, rb_memory_view_t *view, int flags) {
    gw_frame_t *frame = frame_get(self);
    if (!frame->live || (flags & RUBY_MEMORY_VIEW_WRITABLE)) return false;
    rb_memory_view_init_as_byte_array(view, self, zmq_msg_data(&frame->message),
            (ssize_t)zmq_msg_size(&frame->message), true);
    atomic_fetch_add(&frame->exports, 1);
    return true;
}

static bool frame_view_release(VALUE self, rb_memory_view_t *view) {
    frame_end_read(self);
    return true;
}

static bool frame_view_available_p(VALUE self) { return frame_get(self)->live; }

static const rb_memory_view_entry_t view_entry = {
        frame_view_get, frame_view_release, frame_view_available_p};

void gw_init_frame(void) {
    frame_class = rb_define_class_under(gw_mGodwit, "Frame", rb_cObject);
    rb_gc_register_mark_object(frame_class);
    rb_define_alloc_func(frame_class, frame_alloc);
    rb_memory_view_register(frame_class, &view_entry);
    rb_define_private_method(frame_class, "_open", frame_open, 2);
    rb_define_private_method(frame_class, "initialize_copy", frame_initialize_copy, 1);
    rb_define_private_method(frame_class, "_size", frame_bytesize, 0);
    rb_define_private_method(frame_class, "_slice", frame_slice, 2);
    rb_define_private_method(frame_class, "_string", frame_string, 0);
    rb_define_private_method(frame_class, "_byte", frame_byte, 1);
    rb_define_private_method(frame_class, "_in_place", frame_in_place, 0);
    rb_define_private_method(frame_class, "_compare", frame_compare, 1);
    rb_define_private_method(frame_class, "_hash", frame_hash, 0);
    rb_define_private_method(frame_class, "_more?", frame_more_p, 0);
    rb_define_private_method(frame_class, "_gone?", frame_gone_p, 0);
    rb_define_private_method(frame_class, "_property", frame_property, 1);
    rb_define_private_method(frame_class, "_routing_id", frame_routing_id, 0);
    rb_define_private_method(frame_class, "_group", frame_group, 0);
    rb_define_private_method(frame_class, "_encoding", frame_encoding, 0);
    rb_define_private_method(frame_class, "_close", frame_close, 0);
}
