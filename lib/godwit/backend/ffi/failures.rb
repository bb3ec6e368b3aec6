# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # What went wrong while a lock was held: an errno, or the class of an error that libzmq has no
      # errno for. What is raised in the end is built without the lock, since its hints ask the
      # socket for options.
      # @private
      class Failed < StandardError
        attr_reader :what, :detail, :object

        # The lock is held by the very call that a trap handler interrupted: see {Lock}.
        # @param name [String] what is locked
        def self.in_handler(name)
          new(BusyError, "a trap handler interrupted a call on this #{name}: start a Thread there")
        end

        # @param object what it is about, when not the one that was called
        def initialize(what, detail = nil, object: nil)
          @what = what
          @detail = detail
          @object = object
          super("errno #{what}")
        end
      end

      # The one place that raises. The classes, their messages and hints are in api/errors.yml and
      # lib/godwit/errors.rb.
      # @private
      module Failures
        module_function

        # Runs the block; what fails in it is raised as the public error of this operation. The
        # errno is kept for the call that a trap handler has interrupted (keep_errno, without its
        # block: this is on every path). At the end of the process Ruby kills all threads but the
        # main one; those that the closing of contexts wakes a little earlier go the same direction,
        # and nothing is reported of them.
        def with_error_translation(operation, object, endpoint = nil)
          errno = ::FFI.errno # an interrupt that comes here finds nothing to put back
          begin
            yield
          rescue Failed => failed
            if failed.what == ClosedError && ProcessEnd.over? && !Thread.current.equal?(Thread.main)
              Thread.exit
            end
            raise error(failed, operation, object, endpoint), cause: nil
          ensure
            FFI.put_back(errno)
          end
        end

        def raise_for(what, operation, object, endpoint = nil)
          raise error(Failed.new(what), operation, object, endpoint), cause: nil
        end

        def error(failed, operation, object, endpoint)
          object = failed.object || object
          return ErrorHints.bad_message(failed.detail, operation, object) if failed.what == :message
          return Errors.build(failed.what, operation, nil, failed.detail) if failed.detail
          if endpoint.nil? && object.is_a?(Socket)
            places = object.endpoints
            endpoint = places.join(", ") unless places.empty?
          end
          Errors.build(
            failed.what, operation, endpoint,
            ErrorHints.for(failed.what, operation, object, endpoint)
          )
        end
      end
    end
  end
end
