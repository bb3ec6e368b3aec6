# frozen_string_literal: true

require "godwit/printable"

module Godwit
  module Work
    module Kafka
      # Converts librdkafka's errors to Ruby's.
      # @private
      module Errors
        # What an rd_kafka_error_t says. `abortable`: the transaction must be aborted.
        Facts = Struct.new(:code, :name, :text, :retriable, :fatal, :abortable) do
          # @return [Error, UnsupportedError] to raise
          def to_error(operation)
            Errors.of(code, operation, text, retriable: retriable, fatal: fatal)
          end
        end
        # Names of librdkafka's errors, the class that they become, and the fix.
        Row = Struct.new(:names, :klass, :fix)

        RIGHT = "give the user this right, with kafka-acls for example; work/docs/kafka.md lists " \
          "all rights that Work needs"
        LOST = "another member has the partitions, and runs the records that were not committed"
        TABLE = [
          Row.new(
            %w[
              TOPIC_AUTHORIZATION_FAILED GROUP_AUTHORIZATION_FAILED CLUSTER_AUTHORIZATION_FAILED
              TRANSACTIONAL_ID_AUTHORIZATION_FAILED DELEGATION_TOKEN_AUTHORIZATION_FAILED
            ], AccessError, RIGHT
          ),
          Row.new(
            %w[
              _AUTHENTICATION SASL_AUTHENTICATION_FAILED UNSUPPORTED_SASL_MECHANISM
              ILLEGAL_SASL_STATE
            ], AccessError, "look at the URL's user and secret, and at sasl:"
          ),
          Row.new(
            %w[_SSL], AccessError, "name the file of the brokers' CA by kafka: " \
              "{\"ssl.ca.location\" => \"ca.pem\"}; the certificate must name the URL's host"
          ),
          Row.new(
            %w[UNKNOWN_TOPIC_OR_PART UNKNOWN_TOPIC_ID _UNKNOWN_TOPIC _UNKNOWN_PARTITION],
            TopicError, "declare it with Godwit::Work.topic; it may have been deleted"
          ),
          Row.new(%w[TOPIC_EXCEPTION], TopicError, "choose another name"),
          Row.new(
            %w[
              ILLEGAL_GENERATION UNKNOWN_MEMBER_ID FENCED_INSTANCE_ID FENCED_MEMBER_EPOCH
              STALE_MEMBER_EPOCH _ASSIGNMENT_LOST _MAX_POLL_EXCEEDED _FENCED PRODUCER_FENCED
              INVALID_PRODUCER_EPOCH
            ], LostError, LOST
          ),
          Row.new(
            %w[MSG_SIZE_TOO_LARGE RECORD_LIST_TOO_LARGE INVALID_MSG_SIZE], FormatError,
            "make the value smaller, or raise the topic's max.message.bytes"
          ),
          Row.new(
            %w[UNSUPPORTED_VERSION _UNSUPPORTED_FEATURE UNSUPPORTED_FOR_MESSAGE_FORMAT],
            UnsupportedError, "Work needs Kafka 2.5 or newer; without transactions there: " \
              "transactions: false"
          ),
          Row.new(
            %w[_ALL_BROKERS_DOWN _TRANSPORT _RESOLVE _TIMED_OUT], BrokerError,
            "look at the network, the brokers and the URL: kafka+ssl:// is for a port with TLS, " \
              "USER:SECRET@ for one with SASL"
          ),
          Row.new(
            %w[_MSG_TIMED_OUT], BrokerError,
            "look at the brokers and the network; the record may have been written"
          )
        ].freeze

        # Errors after which the same call may succeed. Used where librdkafka has only a code.
        RETRIABLE = %w[
          _NOENT _DESTROY_BROKER
          _ALL_BROKERS_DOWN _TRANSPORT _RESOLVE _TIMED_OUT _MSG_TIMED_OUT _TIMED_OUT_QUEUE
          _QUEUE_FULL _WAIT_COORD _RETRY BROKER_NOT_AVAILABLE CONCURRENT_TRANSACTIONS
          COORDINATOR_LOAD_IN_PROGRESS COORDINATOR_NOT_AVAILABLE FENCED_LEADER_EPOCH
          KAFKA_STORAGE_ERROR LEADER_NOT_AVAILABLE
          LISTENER_NOT_FOUND NETWORK_EXCEPTION NOT_CONTROLLER NOT_COORDINATOR NOT_ENOUGH_REPLICAS
          NOT_ENOUGH_REPLICAS_AFTER_APPEND NOT_LEADER_FOR_PARTITION OFFSET_NOT_AVAILABLE
          REBALANCE_IN_PROGRESS REPLICA_NOT_AVAILABLE REQUEST_TIMED_OUT THROTTLING_QUOTA_EXCEEDED
          UNKNOWN_LEADER_EPOCH UNSTABLE_OFFSET_COMMIT
        ].freeze
        FATAL = %w[_FATAL].freeze
        TIMED_OUT = -185 # librdkafka's code for a time-out

        class << self
          # @param code [Integer] an rd_kafka_resp_err_t
          # @param operation [Symbol] such as :produce
          # @param text [String, nil] of a broker, or librdkafka's last cause; nil: `code`'s text
          # @param resource [String, nil] such as "topic payments"
          # @param retriable [Boolean, nil] as librdkafka says; nil: as RETRIABLE says
          # @return [Error, UnsupportedError] to raise
          def of(code, operation, text = nil, resource: nil, retriable: nil, fatal: nil)
            Functions.load
            name = Functions.err2name(code)
            row = TABLE.find { |one| one.names.include?(name) }
            text = message(text || Functions.err2str(code), name, operation, resource, row)
            klass = row ? row.klass : BrokerError
            return klass.new(text, operation: operation) unless klass == BrokerError
            klass.new(
              text, operation: operation, code: code, name: name,
              retriable: either(retriable, RETRIABLE, name), fatal: either(fatal, FATAL, name)
            )
          end

          # @param pointer [FFI::Pointer] an rd_kafka_error_t, which this method destroys, or NULL
          # @raise [Error] unless it is NULL
          def check(pointer, operation)
            facts = read(pointer) and raise facts.to_error(operation)
          end

          # @return [Boolean] whether the same call may succeed later
          def retriable?(code) = RETRIABLE.include?(Functions.err2name(code))

          # @param pointer [FFI::Pointer] an rd_kafka_error_t, which this method destroys, or NULL
          # @return [Facts, nil] nil for NULL
          def read(pointer)
            return if pointer.null?
            code = Functions.error_code(pointer)
            Facts.new(
              code, Functions.err2name(code), Functions.error_string(pointer).dup,
              Functions.error_is_retriable(pointer) == 1, Functions.error_is_fatal(pointer) == 1,
              Functions.error_txn_requires_abort(pointer) == 1
            )
          ensure
            Functions.error_destroy(pointer) unless pointer.null?
          end

          private

          def either(given, names, name) = given.nil? ? names.include?(name) : given

          def message(text, name, operation, resource, row)
            where = resource ? "#{operation} #{resource}" : operation
            cause = Printable.text("#{where}: #{text}").delete_suffix(".")
            "#{cause} (#{name})#{": #{row.fix}" if row}"
          end
        end
      end
    end
  end
end
