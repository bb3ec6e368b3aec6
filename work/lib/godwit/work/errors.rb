# frozen_string_literal: true

module Godwit
  module Work
    # The module that all errors of consumers and logs include. `rescue Godwit::Work::Error` and
    # `rescue Godwit::Error` both rescue all these errors.
    module Error
      include Godwit::Error

      # @return [Boolean] whether no call can succeed until the file or the program is repaired
      def fatal? = self.class::FATAL

      # @private
      FATAL = false
    end

    # Makes the error classes of consumers and logs.
    # @private
    module Errors
      module_function

      def define(parent = StandardError, retriable: false, fatal: false)
        Class.new(parent) do
          include Error

          const_set(:RETRIABLE, retriable)
          const_set(:FATAL, fatal)
        end
      end
    end

    # The value does not fit the topic's format, or is too large.
    FormatError = Errors.define(Godwit::FormatError)
    # The topic does not exist, or exists with other settings.
    TopicError = Errors.define(ArgumentError)
    # There is no such database, or the program may not use it. On Kafka: the user lacks a right, or
    # the brokers refuse the user, the secret or the certificate.
    AccessError = Errors.define(fatal: true)
    # The file is no SQLite database, is damaged, or has a schema of another version.
    CorruptError = Errors.define(fatal: true)
    # The disk is full. The call has written nothing.
    FullError = Errors.define(retriable: true)
    # Another process locked the database for too long. The call has written nothing.
    LockedError = Errors.define(retriable: true)
    # The engine was closed.
    ClosedError = Errors.define(IOError)
    # Any other failure of the database. The call has written nothing.
    DatabaseError = Errors.define
    BrokerError = Errors.define
    LostError = Errors.define

    # Any other error of Kafka's brokers, or no broker answers. The brokers may have written the
    # records of a `produce` that raises this error.
    class BrokerError
      # @return [Integer, nil] librdkafka's number of the error
      attr_reader :code
      # @return [String, nil] librdkafka's name of the error, such as "NOT_ENOUGH_REPLICAS"
      attr_reader :name

      # @param message [String, nil] the whole message
      # @param code [Integer, nil] see {#code}
      # @param name [String, nil] see {#name}
      # @param retriable [Boolean] see {#retriable?}
      # @param fatal [Boolean] see {#fatal?}
      # @param rest [Hash] keywords that all errors of Godwit have, such as `operation:`
      def initialize(message = nil, code: nil, name: nil, retriable: false, fatal: false, **rest)
        super(message, **rest)
        @code = code
        @name = name
        @retriable = retriable
        @fatal = fatal
      end

      # @return [Boolean] whether librdkafka says that the same call may succeed later
      def retriable? = @retriable
      # @return [Boolean] whether librdkafka says that the producer or the program must be replaced
      def fatal? = @fatal
    end

    # The member no longer owns the partition. The call has written nothing.
    class LostError
      # @private
      # @return [LostError]
      def self.of(topic, partition)
        new("partition #{partition} of topic #{topic.name} is no longer of this member: another " \
          "one has it, and runs the records that were not committed")
      end
    end
  end
end
