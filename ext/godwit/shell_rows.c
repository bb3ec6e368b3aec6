/* Splits a command's output for Godwit::Shell::Rows. Two functions observe child processes in ways
 * that Ruby lacks. All functions need the GVL. None waits: lib/godwit/shell waits with a Poller. */
#include "proxy.h"
#include <sys/syscall.h>
#include <sys/wait.h>

enum { PIPE_BYTES = 65536 }; /* most bytes of one read: the capacity of a pipe */

/* Indexes in the Array `progress`, the same as in Godwit::Shell::Rows. */
enum { ROWS_START, ROWS_COUNT, ROWS_CLOSED, ROWS_REUSED };

/* append_bytes(io, buffer, from) => bytes read; 0 at the end; nil: no byte is readable now. Drops
 * the buffer's bytes before `from`, and reads once. */
static VALUE rows_append(VALUE self, VALUE io, VALUE buffer, VALUE from) {
    int fd = NUM2INT(rb_funcall(io, rb_intern("fileno"), 0));
    long dropped = NUM2LONG(from), size = RSTRING_LEN(StringValue(buffer)) - dropped;
    rb_str_modify_expand(buffer, dropped < PIPE_BYTES ? PIPE_BYTES - dropped : 0);
    char *text = RSTRING_PTR(buffer);
    if (dropped > 0) memmove(text, text + dropped, (size_t)size);
    ssize_t got = read(fd, text + size, PIPE_BYTES);
    int error = errno;
    rb_str_set_len(buffer, size + (got > 0 ? got : 0));
    if (got >= 0) return LONG2NUM(got);
    if (error == EAGAIN || error == EINTR) return Qnil;
    if (error == EIO) return INT2FIX(0); /* all programs have closed the terminal */
    gw_raise(error, "rows", Qnil, Qnil);
}

static VALUE rows_reuse(VALUE progress, VALUE row, const char *text, long size,
        rb_encoding *encoding) {
    if (OBJ_FROZEN(row)) RARRAY_ASET(progress, ROWS_REUSED, row = rb_str_new(NULL, 0));
    rb_str_modify(row); /* unshares the bytes: copies of the String must not change */
    if ((long)rb_str_capacity(row) < size) rb_str_modify_expand(row, size - RSTRING_LEN(row));
    memcpy(RSTRING_PTR(row), text, (size_t)size);
    rb_str_set_len(row, size);
    if (rb_enc_get(row) != encoding) rb_enc_associate(row, encoding);
    return row;
}

typedef struct {
    VALUE progress, buffer;
    const char *separator;
    size_t width, most, start, from;
    int64_t until;
    rb_encoding *encoding;
    bool chomp;
} split_t;

static VALUE rows_yield_all(VALUE pointer) {
    split_t *split = (split_t *)pointer;
    const split_t given = *split; /* a copy, as the compiler may hold its fields in registers */
    bool crlf = given.chomp && given.width == 1 && *given.separator == '\n';
    size_t count = NUM2SIZET(RARRAY_AREF(given.progress, ROWS_COUNT));
    VALUE reused = RARRAY_AREF(given.progress, ROWS_REUSED);
    while (!RTEST(RARRAY_AREF(given.progress, ROWS_CLOSED))) {
        const char *text = RSTRING_PTR(given.buffer), *row = text + split->start;
        size_t remaining = (size_t)RSTRING_LEN(given.buffer) - split->from;
        const char *found = given.width == 1
                ? memchr(text + split->from, *given.separator, remaining)
                : memmem(text + split->from, remaining, given.separator, given.width);
        if (!found) return Qfalse;
        size_t size = (size_t)(found - row), carriage = crlf && size > 0 && found[-1] == '\r';
        if (size - carriage > given.most) return Qfalse;
        split->from = split->start += size + given.width;
        /* RARRAY_ASET is slower, and a number needs no write barrier. */
        ((VALUE *)RARRAY_CONST_PTR(given.progress))[ROWS_COUNT] = SIZET2NUM(++count);
        size = given.chomp ? size - carriage : size + given.width;
        if (NIL_P(reused)) {
            rb_yield(rb_enc_str_new(row, (long)size, given.encoding));
        } else {
            reused = rows_reuse(given.progress, reused, row, (long)size, given.encoding);
            rb_yield(reused);
        }
        if (given.until >= 0 && gw_milliseconds_now() >= given.until) return Qtrue;
    }
    return Qfalse;
}

static VALUE rows_store_start(VALUE pointer) {
    split_t *split = (split_t *)pointer;
    RARRAY_ASET(split->progress, ROWS_START, SIZET2NUM(split->start));
    return Qnil;
}

/* split_rows(progress, buffer, scanned, separator, limit, chomp, encoding, deadline) { |row| } =>
 * whether the deadline has passed. Yields the rows whose separators are in the buffer. Stops before
 * a row of more than `limit` bytes. No separator begins before `scanned`. */
static VALUE rows_split(int argc, VALUE *argv, VALUE self) {
    VALUE progress, buffer, scanned, separator, limit, chomp, encoding, deadline;
    rb_scan_args(argc, argv, "8", &progress, &buffer, &scanned, &separator, &limit, &chomp,
            &encoding, &deadline);
    Check_Type(progress, T_ARRAY);
    split_t split = {.progress = progress, .buffer = buffer, .chomp = RTEST(chomp),
        .separator = StringValuePtr(separator), .width = (size_t)RSTRING_LEN(separator),
        .most = NUM2SIZET(limit), .until = NUM2LL(deadline), .encoding = rb_to_encoding(encoding),
        .start = NUM2SIZET(RARRAY_AREF(progress, ROWS_START))};
    split.from = NUM2SIZET(scanned) > split.start ? NUM2SIZET(scanned) : split.start;
    /* The offsets are too large if a trap handler raised before Rows#fill could reset them. */
    if (split.from > (size_t)RSTRING_LEN(buffer)) return Qfalse;
    return rb_ensure(rows_yield_all, (VALUE)&split, rows_store_start, (VALUE)&split);
}

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

void gw_init_rows(VALUE native) {
    rb_define_module_function(native, "append_bytes", rows_append, 3);
    rb_define_module_function(native, "split_rows", rows_split, -1);
    rb_define_module_function(native, "exited?", rows_exited_p, 1);
    rb_define_module_function(native, "pidfd", rows_pidfd, 1);
}
