# frozen_string_literal: true

# Work gets the librdkafka of bin/setup by this variable, since Bundler hides its gem.
ENV["GODWIT_LIBRDKAFKA"] ||=
  Dir[File.expand_path("../../../vendor/kafka/gems/karafka-rdkafka-*/ext/librdkafka.so", __dir__)]
    .max.to_s
