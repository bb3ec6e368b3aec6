/* Defines Godwit::Work::Kafka::Native. */
#include "kafka_ext.h"

RUBY_FUNC_EXPORTED void Init_kafka_ext(void) {
    VALUE work = rb_define_module_under(rb_define_module("Godwit"), "Work");
    VALUE kafka = rb_define_module_under(work, "Kafka");
    VALUE native = rb_define_module_under(kafka, "Native");
    gw_init_library(kafka, native);
    gw_init_drain(native);
    gw_init_deliveries(native);
}
