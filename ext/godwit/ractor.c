/* Gives each Ractor a number. Needs the GVL. */
#include "process.h"
#include <ruby/ractor.h>

static rb_ractor_local_key_t ractor_key;

static const struct rb_ractor_local_storage_type ractor_number_type = {.free = ruby_xfree};

uint64_t gw_ractor(void) {
    static _Atomic(uint64_t) last;
    uint64_t *number = rb_ractor_local_storage_ptr(ractor_key);
    if (!number) {
        number = ALLOC(uint64_t);
        *number = atomic_fetch_add(&last, 1) + 1;
        rb_ractor_local_storage_ptr_set(ractor_key, number);
    }
    return *number;
}

void gw_init_ractor(void) { ractor_key = rb_ractor_local_storage_ptr_newkey(&ractor_number_type); }
