/* Memory for small outgoing messages (ADR 8): malloc in the sender's thread and free in libzmq's
 * cost more than the copy. Messages are cut from slabs; a slab is used again once all its messages
 * are freed. A sender that finds the lock `claimed` set uses malloc. */
#include "core.h"
#include <stdlib.h>

enum {
    INLINE = 33, /* bytes that fit into zmq_msg_t itself */
    LARGEST = 1024,
    SLAB = 16 * 1024,
    SPARE = 64,       /* most slabs that wait for reuse; further ones are freed */
    MAX = 1024,       /* most slabs at a time; one unsent message occupies its whole slab */
    FREED = 31 << 20, /* bytes that gw_raise_trim_threshold frees; 32 MiB would have no effect */
    OPEN = 1 << 30,   /* first value of `refs`, so that messages cannot free the current slab */
};

typedef struct slab {
    struct slab *next;
    atomic_int refs;
    int cut;  /* messages that were cut from the slab */
    int used; /* bytes of `data` in use */
    _Alignas(64) char data[];
} slab_t;

static atomic_flag claimed = ATOMIC_FLAG_INIT;
static slab_t *current, *ready; /* guarded by `claimed` */
static _Atomic(slab_t *) returned;
static atomic_int returned_count; /* approximate length of `returned` */
static atomic_int slabs;

/* Runs on the thread that drops the last reference: one of libzmq's, or a sender. */
static void pool_return_slab(slab_t *slab) {
    if (atomic_fetch_add_explicit(&returned_count, 1, memory_order_relaxed) >= SPARE) {
        atomic_fetch_sub_explicit(&returned_count, 1, memory_order_relaxed);
        atomic_fetch_sub_explicit(&slabs, 1, memory_order_relaxed);
        free(slab);
        return;
    }
    slab->next = atomic_load_explicit(&returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(
            &returned, &slab->next, slab, memory_order_release, memory_order_relaxed))
        continue;
}

static void pool_drop(slab_t *slab, int refs) {
    if (atomic_fetch_sub_explicit(&slab->refs, refs, memory_order_acq_rel) == refs)
        pool_return_slab(slab);
}

/* libzmq's threads call this function. */
static void pool_free(void *data, void *slab) { pool_drop(slab, 1); }

static slab_t *pool_next_slab(void) {
    slab_t *slab = ready;
    if (!slab) {
        slab = atomic_exchange_explicit(&returned, NULL, memory_order_acquire);
        atomic_store_explicit(&returned_count, 0, memory_order_relaxed);
    }
    if (slab) {
        ready = slab->next;
    } else {
        if (atomic_load_explicit(&slabs, memory_order_relaxed) >= MAX) return NULL;
        if (posix_memalign((void **)&slab, 64, SLAB)) return NULL;
        atomic_fetch_add_explicit(&slabs, 1, memory_order_relaxed);
    }
    atomic_init(&slab->refs, OPEN);
    slab->cut = slab->used = 0;
    return slab;
}

static char *pool_cut(size_t size, slab_t **from) {
    if (atomic_flag_test_and_set_explicit(&claimed, memory_order_acquire)) return NULL;
    int needed = (int)(size + 15) & ~15;
    char *data = NULL;
    if (GW_UNLIKELY(!current || current->used + needed > (int)(SLAB - sizeof(slab_t)))) {
        if (current) pool_drop(current, OPEN - current->cut);
        current = pool_next_slab();
    }
    if (GW_LIKELY(current != NULL)) {
        data = current->data + current->used;
        current->used += needed;
        current->cut++;
        *from = current;
    }
    atomic_flag_clear_explicit(&claimed, memory_order_release);
    return data;
}

/* glibc returns free memory to the system when it exceeds twice the largest mmap block ever freed.
 * Pages that come back are slow at first. Freeing one large block here raises glibc's limit. */
void gw_raise_trim_threshold(void) {
    static atomic_flag raised = ATOMIC_FLAG_INIT;
    if (atomic_flag_test_and_set_explicit(&raised, memory_order_relaxed)) return;
    void *volatile block = malloc(FREED);
    free(block);
}

int gw_message_init(zmq_msg_t *message, const char *data, size_t size) {
    slab_t *slab;
    char *copy = size > INLINE && size <= LARGEST ? pool_cut(size, &slab) : NULL;
    if (!copy) {
        if (zmq_msg_init_size(message, size) != 0) return zmq_errno();
        memcpy(zmq_msg_data(message), data, size);
        return 0;
    }
    memcpy(copy, data, size);
    if (zmq_msg_init_data(message, copy, size, pool_free, slab) == 0) return 0;
    int error = zmq_errno();
    pool_drop(slab, 1);
    return error;
}
