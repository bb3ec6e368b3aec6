# frozen_string_literal: true

module Godwit
  module Backend
    module FFI
      # A copy would share its original's handle, and Ruby copies finalizers: both go before the
      # copy is refused.
      # @private
      module NoCopy
        private

        def initialize_copy(original)
          ObjectSpace.undefine_finalizer(self)
          @handle = @queue = nil
          super
        end
      end
    end
  end

  [Context, Socket, Monitor, Poller, Proxy].each { |klass| klass.prepend(Backend::FFI::NoCopy) }
end
