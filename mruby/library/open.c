/* The library's entry point: the C half of the gem, then its Ruby files, which mrbc has compiled.
 */
#include "godwit.h"
#include <mruby/class.h>
#include <mruby/irep.h>
#include <stdint.h>

void mrb_mruby_godwit_gem_init(mrb_state *mrb);
extern const uint8_t godwit_irep[];

/* A VM of a build that has the gem has Godwit too. */
static mrb_bool open_has(mrb_state *mrb) {
    return mrb_class_defined(mrb, "Godwit") &&
            mrb_class_defined_under(mrb, mrb_module_get(mrb, "Godwit"), "Wait");
}

void godwit_mruby_open(mrb_state *mrb) {
    if (open_has(mrb)) return;
    int arena = mrb_gc_arena_save(mrb);
    mrb_mruby_godwit_gem_init(mrb);
    mrb_load_irep(mrb, godwit_irep);
    mrb_gc_arena_restore(mrb, arena);
}
