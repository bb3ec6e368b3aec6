/* Godwit's sockets in an mruby VM: cc app.c -lmruby-godwit -lmruby -lzmq -lm */
#ifndef GODWIT_H
#define GODWIT_H

#include <mruby.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Adds Godwit to a VM that does not have it. After an error it is in mrb->exc. mrb_close closes
 * what the VM has open, and waits for its messages to be sent, at most its linger and a second. */
void godwit_mruby_open(mrb_state *mrb);

#ifdef __cplusplus
}
#endif
#endif
