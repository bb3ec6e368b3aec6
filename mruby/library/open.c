/* The library's entry point: the C half of the gem, then its Ruby files, which mrbc has compiled.
 */
#include "godwit.h"
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/irep.h>
#include <stdint.h>

void mrb_mruby_godwit_gem_init(mrb_state *mrb);
extern const uint8_t godwit_irep[];

/* A VM of a build that has the gem has Godwit too. PULL is of the last files. */
static mrb_bool open_has(mrb_state *mrb) {
    return mrb_class_defined(mrb, "Godwit") &&
            mrb_class_defined_under(mrb, mrb_module_get(mrb, "Godwit"), "PULL");
}

/* True: the Ruby files are still to be loaded. */
static mrb_value open_init(mrb_state *mrb, void *unused) {
    if (open_has(mrb)) return mrb_false_value();
    mrb_mruby_godwit_gem_init(mrb);
    return mrb_true_value();
}

/* Without mrb_protect_error, an error of C outside of Ruby code ends the process. */
void godwit_mruby_open(mrb_state *mrb) {
    mrb_bool failed = FALSE;
    int arena = mrb_gc_arena_save(mrb);
    mrb_value result = mrb_protect_error(mrb, open_init, NULL, &failed);
    if (failed) mrb->exc = mrb_obj_ptr(result);
    else if (mrb_test(result)) mrb_load_irep(mrb, godwit_irep);
    mrb_gc_arena_restore(mrb, arena);
}
