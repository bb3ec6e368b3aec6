# frozen_string_literal: true

module Godwit
  module Work
    # What all errors of consumers and logs have in common. `rescue Godwit::Work::Error` takes them
    # all, as `rescue Godwit::Error` does.
    module Error
      include Godwit::Error

      # @return [Boolean] whether the file or the program must be mended before any call succeeds
      def fatal? = self.class::FATAL

      # @private
      FATAL = false
    end

    # Makes the error classes. Each has a message that names the fix.
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
    # The disk is full. Nothing of the call was written.
    FullError = Errors.define(retriable: true)
    # Another process held the database for too long. Nothing of the call was written.
    LockedError = Errors.define(retriable: true)
    # The engine was closed.
    ClosedError = Errors.define(IOError)
    # Any other failure of the database. Nothing of the call was written.
    DatabaseError = Errors.define
    BrokerError = Errors.define
    LostError = Errors.define

    # Any other error of Kafka's brokers, or none of them answers. The records of a call that
    # produces may have been written.
    class BrokerError
      # @return [Integer, nil] librdkafka's number of the error
      attr_reader :code
      # @return [String, nil] librdkafka's name of it, such as "NOT_ENOUGH_REPLICAS"
      attr_reader :name

      # @param message [String, nil]
      # @param code [Integer, nil]
      # @param name [String, nil]
      # @param retriable [Boolean]
      # @param fatal [Boolean]
      # @param rest [Hash] as for other errors
      def initialize(message = nil, code: nil, name: nil, retriable: false, fatal: false, **rest)
        super(message, **rest)
        @code = code
        @name = name
        @retriable = retriable
        @fatal = fatal
      end

      # @return [Boolean] librdkafka's: whether the same call may succeed later
      def retriable? = @retriable
      # @return [Boolean] librdkafka's: whether the producer or the program must be replaced
      def fatal? = @fatal
    end

    # The member no longer owns the partition. Nothing of the call was written.
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
