# frozen_string_literal: true

# Bundler hides the gem karafka-rdkafka of bin/setup. This variable tells Work the gem's library.
ENV["GODWIT_LIBRDKAFKA"] ||=
  Dir[File.expand_path("../../../vendor/kafka/gems/karafka-rdkafka-*/ext/librdkafka.so", __dir__)]
    .max.to_s
