# frozen_string_literal: true

module Godwit
  module Work
    # Kafka by librdkafka, which the gem ffi calls. Nothing loads it without a `kafka://` URL.
    # @private
    module Kafka
      autoload :Configuration, "godwit/work/engine/kafka/configuration"
      autoload :Errors, "godwit/work/engine/kafka/errors"
      autoload :Functions, "godwit/work/engine/kafka/functions"
      autoload :Library, "godwit/work/engine/kafka/library"
      autoload :Properties, "godwit/work/engine/kafka/properties"
      autoload :Secret, "godwit/work/engine/kafka/secret"
      autoload :Settings, "godwit/work/engine/kafka/settings"
      autoload :Url, "godwit/work/engine/kafka/url"
      autoload :UserProperties, "godwit/work/engine/kafka/user_properties"
      autoload :Values, "godwit/work/engine/kafka/values"
    end
  end
end
