/* The numbers of the Ractors, and the hook at the end of the VM. Only gw_ractor needs the GVL. */
#include "process.h"
#include <ruby/ractor.h>
#include <ruby/vm.h>

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

/* Runs when Ruby's objects are gone and only this thread is left, without Ruby and without the GVL.
 * The free functions have closed the open sockets. */
static void vm_at_exit(ruby_vm_t *vm) { gw_contexts_await(NULL); }

void gw_init_vm(void) {
    ractor_key = rb_ractor_local_storage_ptr_newkey(&ractor_number_type);
    ruby_vm_at_exit(vm_at_exit);
}
