# frozen_string_literal: true

require "mkmf"

unless have_devel?
  abort "\ngodwit-work compiles an extension for Kafka, and #{RbConfig::CONFIG["CC"]} compiles " \
    "nothing here. Debian: apt-get install build-essential ruby-dev\n"
end
# Librdkafka is opened at run time, so its headers are not needed.
%w[dlfcn.h pthread.h sys/eventfd.h].each do |header|
  next if have_header(header)
  abort "\ngodwit-work runs on Linux only for now, since it waits with eventfd: #{header} is not " \
    "there. Install libc's headers: apt-get install libc6-dev\n"
end
have_library("dl", "dlopen") # glibc before 2.34 has dlopen in libdl
append_cflags(%w[-std=gnu11 -fvisibility=hidden]) # only Init_kafka_ext is exported
if enable_config("werror", false)
  $CFLAGS << " -Wall -Wextra -Wno-unused-parameter -Werror" # standard:disable Style/GlobalVars
end
create_makefile("godwit/work/kafka_ext")
