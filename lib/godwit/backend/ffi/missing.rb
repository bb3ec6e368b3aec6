# frozen_string_literal: true

require_relative "missing_list"

module Godwit
  module Backend
    module FFI
      # A copy would share its original's handle, and Ruby copies finalizers: both go before the copy is refused.
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

  Backend::FFI::MISSING.each do |name, facts|
    facts[:primitives].each do |primitive|
      const_get(name).class_eval do
        define_method(primitive) do |*|
          raise Errors.build(UnsupportedError, primitive.to_s.delete_prefix("_"), nil,
            "#{facts[:what]} is not there on the FFI backend yet: use the C extension, or see docs/runtimes.md")
        end
        private primitive
      end
    end
  end
end
