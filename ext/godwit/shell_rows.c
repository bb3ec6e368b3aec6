/* Godwit::Backend::Native::Rows: splits the output of a pipe into rows; and two functions for child
 * processes that Ruby lacks. Every function needs the GVL. No function waits: lib/godwit/shell
 * waits with a Poller. */
#include "proxy.h"
#include "shell_constants.h"
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* This file alone uses this value; Ruby code gets the others from `read`. */
enum { GW_ROWS_ROW = GW_ROWS_TOO_LONG + 1 };

typedef struct {
    char *buffer;          /* owned */
    size_t start;          /* start of the next row */
    size_t scanned;        /* no separator begins between start and here */
    size_t end, capacity;  /* end of the read bytes; size of the buffer */
    size_t limit;          /* bytes of a row, without its separator */
    size_t separator_size; /* 0: the bytes of each read are a row */
    uint64_t bytes, rows;  /* bytes read, rows yielded */
    rb_encoding *encoding; /* borrowed; encoding of the rows */
    VALUE row;             /* the String that every row reuses; nil: each row has its own */
    int fd;                /* borrowed from the IO of Shell::Source; -1 once closed */
    int longer;            /* GW_LONG_…: what becomes of rows above the limit */
    bool chomp, carriage;  /* whether a row loses its separator; and a "\r" before it */
    bool utf8, over;       /* whether no row may end within a character; the end was read */
    bool dropping;         /* the rest of a cut row is being dropped */
    char separator[];
} rows_t;

static void rows_mark(void *pointer) {
    rows_t *rows = pointer;
    if (rows) rb_gc_mark_movable(rows->row);
}

static void rows_compact(void *pointer) {
    rows_t *rows = pointer;
    if (rows) rows->row = rb_gc_location(rows->row);
}

static void rows_free(void *pointer) {
    rows_t *rows = pointer;
    if (!rows) return;
    xfree(rows->buffer);
    xfree(rows);
}

static size_t rows_size(const void *pointer) {
    const rows_t *rows = pointer;
    return rows ? sizeof *rows + rows->separator_size + rows->capacity : 0;
}

static const rb_data_type_t rows_type = {
        .wrap_struct_name = "Godwit rows",
        .function = {rows_mark, rows_free, rows_size, rows_compact},
        .flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static VALUE rows_alloc(VALUE class) { return TypedData_Wrap_Struct(class, &rows_type, NULL); }
static rows_t *rows_opened(VALUE self) {
    rows_t *rows = rb_check_typeddata(self, &rows_type);
    if (!rows) gw_raise_closed("rows", self);
    return rows;
}

/* open(io, separator or nil, limit, longer, chomp, encoding, reuse) */
static VALUE rows_open(VALUE self, VALUE io, VALUE separator, VALUE limit, VALUE longer,
        VALUE chomp, VALUE encoding, VALUE reuse) {
    if (rb_check_typeddata(self, &rows_type))
        gw_raise_detail("StateError", "rows", "these rows are open already");
    int number = NUM2INT(rb_funcall(io, rb_intern("fileno"), 0)), flags = fcntl(number, F_GETFL),
        error = errno;
    if (flags < 0) gw_raise(error, "rows", self, Qnil);
    size_t most = NUM2SIZET(limit),
           size = NIL_P(separator) ? 0 : (size_t)RSTRING_LEN(StringValue(separator));
    rb_encoding *rows_encoding = rb_to_encoding(encoding);
    int then = NUM2INT(longer);
    fcntl(number, F_SETFL, flags | O_NONBLOCK);
    rows_t *rows = ruby_xcalloc(1, sizeof *rows + size);
    rows->row = Qnil;
    RTYPEDDATA_DATA(self) = rows;
    rows->fd = number;
    rows->limit = most;
    rows->longer = then;
    rows->separator_size = size;
    rows->encoding = rows_encoding;
    rows->utf8 = rows_encoding == rb_utf8_encoding();
    rows->chomp = RTEST(chomp);
    if (size) memcpy(rows->separator, RSTRING_PTR(separator), size);
    rows->carriage = size == 1 && rows->separator[0] == '\n';
    rows->capacity = GW_PIPE_BYTES;
    rows->buffer = ALLOC_N(char, rows->capacity);
    if (RTEST(reuse)) RB_OBJ_WRITE(self, &rows->row, rb_enc_str_new(NULL, 0, rows_encoding));
    return self;
}

static char *rows_separator_after(rows_t *rows) {
    char *from = rows->buffer + rows->scanned;
    size_t remaining = rows->end - rows->scanned;
    if (rows->separator_size == 1) return memchr(from, rows->separator[0], remaining);
    return memmem(from, remaining, rows->separator, rows->separator_size);
}

/* Returns the length of a UTF-8 character from its first byte. */
static size_t rows_character_size(unsigned char byte) {
    return byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
}

/* Returns how many of these bytes are whole characters; all, if the end is no valid UTF-8. */
static size_t rows_whole(const rows_t *rows, const char *text, size_t size) {
    if (!rows->utf8) return size;
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        if ((text[size - back] & 0xc0) == 0x80) continue;
        size_t wanted = rows_character_size(text[size - back]);
        return wanted > back && size > back ? size - back : size;
    }
    return size;
}

static int rows_chunk(rows_t *rows, const char **text, size_t *size) {
    size_t remaining = rows->end - rows->start;
    *text = rows->buffer + rows->start;
    *size = rows->over ? remaining : rows_whole(rows, *text, remaining);
    if (remaining == 0) return rows->over ? GW_ROWS_ENDED : GW_ROWS_WAIT;
    if (*size > rows->limit) *size = rows_whole(rows, *text, rows->limit);
    if (*size == remaining && !rows->over && rows->utf8 && rows_character_size(**text) > remaining)
        return GW_ROWS_WAIT; /* the buffer has only the beginning of a character */
    rows->start += *size;
    return GW_ROWS_ROW;
}

static int rows_too_long(rows_t *rows, const char **text, size_t *size) {
    if (rows->longer == GW_LONG_RAISES) return GW_ROWS_TOO_LONG;
    *size = rows_whole(rows, *text, rows->limit);
    rows->start += *size;
    if (rows->scanned < rows->start) rows->scanned = rows->start;
    rows->dropping = rows->longer == GW_LONG_IS_CUT;
    return GW_ROWS_ROW;
}

/* Returns GW_ROWS_ROW, GW_ROWS_ENDED, GW_ROWS_TOO_LONG, or GW_ROWS_WAIT to read more. */
static int rows_next_row(rows_t *rows, const char **text, size_t *size) {
    if (rows->separator_size == 0) return rows_chunk(rows, text, size);
    for (;;) {
        char *found = rows_separator_after(rows);
        /* Bytes up to `known` belong to this row, except for the beginning of a separator. */
        size_t known = found ? (size_t)(found - rows->buffer) : rows->end;
        size_t unsure = found || rows->over ? 0 : rows->separator_size - 1;
        rows->scanned = known - rows->start > unsure ? known - unsure : rows->start;
        if (rows->dropping) {
            rows->start = found ? known + rows->separator_size : rows->scanned;
            rows->scanned = rows->start;
            rows->dropping = !found && !rows->over;
            if (found) continue;
            return rows->over ? GW_ROWS_ENDED : GW_ROWS_WAIT;
        }
        *text = rows->buffer + rows->start;
        *size = known - rows->start;
        /* A "\r" before a separator belongs to it; one at the end of the buffer may. */
        size_t carriage = rows->chomp && rows->carriage && *size > 0 &&
                (*text)[*size - 1] == '\r' && (found || !rows->over);
        if (*size > unsure + carriage && *size - unsure - carriage > rows->limit)
            return rows_too_long(rows, text, size);
        if (found) {
            rows->start = rows->scanned = known + rows->separator_size;
            *size = rows->chomp ? *size - carriage : *size + rows->separator_size;
            return GW_ROWS_ROW;
        }
        if (!rows->over) return GW_ROWS_WAIT;
        rows->start = rows->scanned = rows->end;
        return *size ? GW_ROWS_ROW : GW_ROWS_ENDED;
    }
}

static void rows_make_room(rows_t *rows) {
    if (rows->start > 0) {
        memmove(rows->buffer, rows->buffer + rows->start, rows->end - rows->start);
        rows->scanned -= rows->scanned < rows->start ? rows->scanned : rows->start;
        rows->end -= rows->start;
        rows->start = 0;
    }
    if (rows->capacity - rows->end >= GW_PIPE_BYTES / 2) return;
    /* The buffer must have room for a whole row. */
    REALLOC_N(rows->buffer, char, rows->capacity * 2);
    rows->capacity *= 2;
}

/* Reads once; returns GW_ROWS_MORE, GW_ROWS_WAIT or GW_ROWS_ENDED, the last also after close. */
static int rows_fill(VALUE self, rows_t *rows) {
    if (rows->over || rows->fd < 0) return GW_ROWS_ENDED;
    rows_make_room(rows);
    ssize_t got = read(rows->fd, rows->buffer + rows->end, rows->capacity - rows->end);
    int error = errno;
    if (got > 0) {
        rows->end += (size_t)got;
        rows->bytes += (uint64_t)got;
        return GW_ROWS_MORE;
    }
    if (got < 0 && (error == EAGAIN || error == EINTR)) return GW_ROWS_WAIT;
    rows->over = true;
    /* EIO means that the other side of a terminal was closed. */
    if (got < 0 && error != EIO) gw_raise(error, "rows", self, Qnil);
    return GW_ROWS_MORE;
}

static VALUE rows_string_of(VALUE self, rows_t *rows, const char *text, size_t size) {
    VALUE row = rows->row;
    if (NIL_P(row)) return rb_enc_str_new(text, (long)size, rows->encoding);
    if (OBJ_FROZEN(row)) {
        row = rb_enc_str_new(text, (long)size, rows->encoding);
        RB_OBJ_WRITE(self, &rows->row, row);
        return row;
    }
    rb_str_modify(row); /* copies of the String must not change */
    if (rb_str_capacity(row) < size) rb_str_modify_expand(row, (long)size - RSTRING_LEN(row));
    memcpy(RSTRING_PTR(row), text, size);
    rb_str_set_len(row, (long)size);
    if (rb_enc_get(row) != rows->encoding) rb_enc_associate(row, rows->encoding);
    return row;
}

static bool rows_past(int64_t deadline) {
    return deadline >= 0 && gw_milliseconds_now() >= deadline;
}

/* read(deadline in ms of the monotonic clock; -1: none) { |row| } => a number of ROWS_…. Reads at
 * most once, and yields all complete rows. The block may raise, close the rows, and not return. */
static VALUE rows_read(VALUE self, VALUE deadline) {
    rows_t *rows = rows_opened(self);
    int64_t until = NUM2LL(deadline);
    bool read_once = false;
    const char *text;
    size_t size;
    for (;;) {
        if (rows->fd < 0) return INT2FIX(GW_ROWS_ENDED);
        int what = rows_next_row(rows, &text, &size);
        if (what == GW_ROWS_ROW) {
            rows->rows++;
            rb_yield(rows_string_of(self, rows, text, size));
            if (rows_past(until)) return INT2FIX(GW_ROWS_LATE);
            continue;
        }
        if (what != GW_ROWS_WAIT) return INT2FIX(what);
        if (read_once) return INT2FIX(GW_ROWS_MORE);
        what = rows_fill(self, rows);
        if (what != GW_ROWS_MORE) return INT2FIX(what);
        read_once = true;
    }
}

static VALUE rows_close(VALUE self) {
    rows_opened(self)->fd = -1;
    return Qnil;
}

static VALUE rows_bytes(VALUE self) { return ULL2NUM(rows_opened(self)->bytes); }
static VALUE rows_count(VALUE self) { return ULL2NUM(rows_opened(self)->rows); }

/* exited?(pid) => true: the child has ended and its status was not read; false: it runs; nil: no
 * child has that pid. */
static VALUE rows_exited_p(VALUE self, VALUE pid) {
    siginfo_t info = {.si_pid = 0};
    while (waitid(P_PID, (id_t)NUM2PIDT(pid), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
        if (errno != EINTR) return Qnil;
    }
    return RBOOL(info.si_pid != 0);
}

/* pidfd(pid) => descriptor that is readable once the process has ended; nil before Linux 5.3 */
static VALUE rows_pidfd(VALUE self, VALUE pid) {
#ifdef SYS_pidfd_open
    long fd = syscall(SYS_pidfd_open, NUM2PIDT(pid), 0); /* the descriptor closes on exec */
    if (fd >= 0) return LONG2NUM(fd);
#endif
    return Qnil;
}

/* The methods are defined by id, so that YARD does not list them: the backend is private. */
void gw_init_rows(VALUE native) {
    VALUE class = rb_define_class_id_under(native, rb_intern("Rows"), rb_cObject);
    rb_define_alloc_func(class, rows_alloc);
    rb_define_method_id(class, rb_intern("open"), rows_open, 7);
    rb_define_method_id(class, rb_intern("read"), rows_read, 1);
    rb_define_method_id(class, rb_intern("close"), rows_close, 0);
    rb_define_method_id(class, rb_intern("bytes"), rows_bytes, 0);
    rb_define_method_id(class, rb_intern("rows"), rows_count, 0);
    rb_define_module_function(native, "exited?", rows_exited_p, 1);
    rb_define_module_function(native, "pidfd", rows_pidfd, 1);
}
