/* The interpreter mruby-godwit: mruby with Godwit in it. */
#include "godwit.h"
#include <errno.h>
#include <mruby/array.h>
#include <mruby/compile.h>
#include <mruby/string.h>
#include <mruby/variable.h>
#include <mruby/version.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zmq.h>

enum { FAILED = 1, WRONG_USAGE = 2 };

static mrb_state *vm;

/* Also for Kernel#exit of a build with mruby-exit, which ends the process at once. */
static void main_close(void) {
    mrb_state *mrb = vm;
    vm = NULL;
    if (mrb) mrb_close(mrb);
}

static int main_usage(const char *problem, const char *argument) {
    if (problem) fprintf(stderr, "mruby-godwit: %s%s\n", problem, argument);
    fprintf(stderr,
            "usage: mruby-godwit FILE [ARGUMENTS]\n"
            "       mruby-godwit -e CODE [ARGUMENTS]\n"
            "       mruby-godwit --version\n");
    return WRONG_USAGE;
}

static int main_version(void) {
    int major, minor, patch;
    zmq_version(&major, &minor, &patch);
    printf("godwit %s (mruby %s, libzmq %d.%d.%d)\n", GODWIT_VERSION, MRUBY_VERSION, major, minor,
            patch);
    return 0;
}

static void main_set_arguments(mrb_state *mrb, const char *program, int argc, char **argv) {
    mrb_value arguments = mrb_ary_new_capa(mrb, argc);
    for (int i = 0; i < argc; i++) mrb_ary_push(mrb, arguments, mrb_str_new_cstr(mrb, argv[i]));
    mrb_define_global_const(mrb, "ARGV", arguments);
    mrb_gv_set(mrb, mrb_intern_lit(mrb, "$0"), mrb_str_new_cstr(mrb, program));
}

/* NULL with errno set. fopen opens a folder too. */
static FILE *main_open(const char *name) {
    struct stat status;
    FILE *file = fopen(name, "r");
    if (!file || fstat(fileno(file), &status) != 0 || !S_ISDIR(status.st_mode)) return file;
    fclose(file);
    errno = EISDIR;
    return NULL;
}

static int main_run(FILE *file, const char *program, const char *code, int argc, char **argv) {
    mrb_state *mrb = vm = mrb_open();
    if (!mrb) {
        fprintf(stderr, "mruby-godwit: no memory for a VM\n");
        return FAILED;
    }
    atexit(main_close);
    godwit_mruby_open(mrb);
    if (!mrb->exc) {
        mrbc_context *context = mrbc_context_new(mrb);
        main_set_arguments(mrb, program, argc, argv);
        mrbc_filename(mrb, context, program);
        if (file) mrb_load_file_cxt(mrb, file, context);
        else mrb_load_nstring_cxt(mrb, code, strlen(code), context);
        mrbc_context_free(mrb, context);
    }
    int status = mrb->exc ? FAILED : 0;
    if (mrb->exc) mrb_print_error(mrb);
    main_close();
    return status;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, 0); /* on mruby 3.3 a pipe would get all lines at the end */
    const char *first = argc > 1 ? argv[1] : NULL;
    if (!first) return main_usage(NULL, "");
    if (strcmp(first, "--version") == 0) return main_version();
    if (strcmp(first, "-e") == 0) {
        if (argc < 3) return main_usage("-e needs CODE", "");
        return main_run(NULL, "-e", argv[2], argc - 3, argv + 3);
    }
    if (first[0] == '-') return main_usage("unknown option ", first);
    FILE *file = main_open(first);
    if (!file) {
        fprintf(stderr, "mruby-godwit: cannot read %s: %s\n", first, strerror(errno));
        return WRONG_USAGE;
    }
    int status = main_run(file, first, NULL, argc - 2, argv + 2);
    fclose(file);
    return status;
}
