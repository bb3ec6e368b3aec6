# frozen_string_literal: true

# Names the librdkafka of bin/setup: Bundler hides its gem from {Godwit::Work::Kafka::Library}.
ENV["GODWIT_LIBRDKAFKA"] ||=
  Dir[File.expand_path("../../../vendor/kafka/gems/karafka-rdkafka-*/ext/librdkafka.so", __dir__)]
    .max.to_s
