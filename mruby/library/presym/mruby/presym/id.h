/* For an mruby whose package has no table of its symbols, such as Debian's mruby 4.0, whose mruby.h
   includes it: the names that mruby.h needs, looked up at run time. */
#ifndef MRUBY_PRESYM_ID_H
#define MRUBY_PRESYM_ID_H

#define MRB_SYM__RuntimeError mrb_intern_lit(mrb, "RuntimeError")
#define MRB_SYM__TypeError mrb_intern_lit(mrb, "TypeError")
#define MRB_SYM__ZeroDivisionError mrb_intern_lit(mrb, "ZeroDivisionError")
#define MRB_SYM__ArgumentError mrb_intern_lit(mrb, "ArgumentError")
#define MRB_SYM__IndexError mrb_intern_lit(mrb, "IndexError")
#define MRB_SYM__RangeError mrb_intern_lit(mrb, "RangeError")
#define MRB_SYM__NameError mrb_intern_lit(mrb, "NameError")
#define MRB_SYM__NoMethodError mrb_intern_lit(mrb, "NoMethodError")
#define MRB_SYM__ScriptError mrb_intern_lit(mrb, "ScriptError")
#define MRB_SYM__SyntaxError mrb_intern_lit(mrb, "SyntaxError")
#define MRB_SYM__LocalJumpError mrb_intern_lit(mrb, "LocalJumpError")
#define MRB_SYM__RegexpError mrb_intern_lit(mrb, "RegexpError")
#define MRB_SYM__FrozenError mrb_intern_lit(mrb, "FrozenError")
#define MRB_SYM__NotImplementedError mrb_intern_lit(mrb, "NotImplementedError")
#define MRB_SYM__KeyError mrb_intern_lit(mrb, "KeyError")
#define MRB_SYM__FloatDomainError mrb_intern_lit(mrb, "FloatDomainError")
#define MRB_SYM__FiberError mrb_intern_lit(mrb, "FiberError")

#endif
