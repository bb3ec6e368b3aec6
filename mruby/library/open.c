/* The library's entry point: the C half of the gem, then its Ruby files, which mrbc has compiled.
 */
#include "godwit.h"
#include <mruby/irep.h>
#include <stdint.h>

void mrb_mruby_godwit_gem_init(mrb_state *mrb);
extern const uint8_t godwit_irep[];

void godwit_mruby_open(mrb_state *mrb) {
    int arena = mrb_gc_arena_save(mrb);
    mrb_mruby_godwit_gem_init(mrb);
    mrb_load_irep(mrb, godwit_irep);
    mrb_gc_arena_restore(mrb, arena);
}
