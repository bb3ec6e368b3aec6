# frozen_string_literal: true

module Godwit
  module Backend::FFI
    # A failure while a thread holds a lock: an errno, or the class of an error without errno. The
    # public error is built after the lock is released, since its hints read the socket's options.
    class Failed < StandardError
      attr_reader :what, :detail, :object

      def self.in_handler(name)
        new(BusyError, "a trap handler interrupted a call on this #{name}: start a Thread there")
      end

      # @param object [Object, nil] the object that failed; nil: the receiver of the public call
      def initialize(what, detail = nil, object: nil)
        @what = what
        @detail = detail
        @object = object
        super("errno #{what}")
      end
    end

    # All public errors of the backend are raised here. Their classes, messages and hints are in
    # api/errors.yml and lib/godwit/errors.rb.
    module Failures
      # Runs the block; a Failed is raised as the public error of this operation. At exit a closed
      # context ends threads other than the main thread without an error.
      def self.with_error_translation(operation, object, endpoint = nil)
        yield
      rescue Failed => failed
        if failed.what == ClosedError && ProcessEnd.over? && !Thread.current.equal?(Thread.main)
          Thread.exit
        end
        raise error(failed, operation, object, endpoint), cause: nil
      end

      def self.error(failed, operation, object, endpoint)
        object = failed.object || object
        return ErrorHints.bad_message(failed.detail, operation, object) if failed.what == :message
        return Errors.build(failed.what, operation, nil, failed.detail) if failed.detail
        if endpoint.nil? && object.is_a?(Socket)
          endpoint = object.endpoints.join(", ") unless object.endpoints.empty?
        end
        hint = ErrorHints.for(failed.what, operation, object, endpoint)
        Errors.build(failed.what, operation, endpoint, hint)
      end
      private_class_method :error

      private

      # The error names self, an object of the public API.
      def with_error_translation(operation, endpoint = nil, &block)
        Failures.with_error_translation(operation, self, endpoint, &block)
      end

      def raise_failed(what, operation)
        with_error_translation(operation) { raise Failed, what }
      end
    end
  end
end
