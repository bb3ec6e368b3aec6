# frozen_string_literal: true

module Godwit
  module Work
    module Kafka
      # What librdkafka says of a failed step of a transaction.
      #
      # @!attribute again
      #   @return [Boolean] whether the same step may succeed later
      # @!attribute abort
      #   @return [Boolean] whether the transaction must be aborted
      # @!attribute fatal
      #   @return [Boolean] whether the producer cannot go on
      # @private
      TransactionError = Struct.new(:code, :text, :again, :abort, :fatal) do
        # @param pointer [FFI::Pointer] an error, which it destroys
        # @return [TransactionError, nil] nil: there is none
        def self.take(pointer)
          return if pointer.null?
          new(Functions.error_code(pointer), Functions.error_string(pointer),
            *%i[is_retriable txn_requires_abort is_fatal].map { |name|
              Functions.__send__(:"error_#{name}", pointer) == 1
            })
        ensure
          Functions.error_destroy(pointer) unless pointer.null?
        end

        # @return [Error]
        def to_error(operation) = Errors.of(code, operation, text, retriable: again, fatal: fatal)
      end
    end
  end
end
