/* Memory for small messages that are sent. libzmq would malloc each on the sender's thread and free it on its I/O thread, and
 * the two then fight over malloc's lock: that alone costs more than the copy (bench/throughput.rb, ADR 8).
 * libzmq's threads give blocks back without a lock; whoever sends takes them all at once. Fork-safe: a child that finds the
 * flag taken uses malloc. */
#include "godwit.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEPT = 4096,              /* blocks that wait to be used again; more are freed */
    INLINE = 33,              /* libzmq keeps messages up to this size in zmq_msg_t itself */
    BLOCK = 256,
};

typedef struct block {
    struct block *next;
    char data[BLOCK - sizeof(struct block *)];
} block_t;

static _Atomic(block_t *) returned; /* by libzmq's threads */
static atomic_int returned_count;   /* about */
static atomic_flag taking = ATOMIC_FLAG_INIT;
static block_t *ready;              /* guarded by `taking` */

static block_t *
take(void)
{
    block_t *block = NULL;
    if (!atomic_flag_test_and_set_explicit(&taking, memory_order_acquire)) {
        if (!ready) {
            ready = atomic_exchange_explicit(&returned, NULL, memory_order_acquire);
            atomic_store_explicit(&returned_count, 0, memory_order_relaxed);
        }
        block = ready;
        if (block) ready = block->next;
        atomic_flag_clear_explicit(&taking, memory_order_release);
    }
    return block ? block : malloc(sizeof(block_t));
}

/* Called by libzmq's threads. */
static void
give(void *data, void *hint)
{
    block_t *block = hint;
    (void)data;
    if (atomic_fetch_add_explicit(&returned_count, 1, memory_order_relaxed) >= KEPT) {
        free(block);
        return;
    }
    block->next = atomic_load_explicit(&returned, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&returned, &block->next, block, memory_order_release, memory_order_relaxed)) continue;
}

/* A message with a copy of `data`; gives an errno. */
int
gw_message_init(zmq_msg_t *message, const char *data, size_t size)
{
    if (size <= INLINE || size > sizeof(((block_t *)0)->data)) {
        if (zmq_msg_init_size(message, size) != 0) return zmq_errno();
        memcpy(zmq_msg_data(message), data, size);
        return 0;
    }
    block_t *block = take();
    if (!block) return ENOMEM;
    memcpy(block->data, data, size);
    if (zmq_msg_init_data(message, block->data, size, give, block) == 0) return 0;
    int error = zmq_errno();
    give(NULL, block);
    return error;
}
