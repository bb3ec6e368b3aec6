# frozen_string_literal: true

require "java"
require "jruby"

module Godwit
  module Shell
    # What JRuby needs besides.
    # @private
    module JavaModules
      PACKAGES = %w[java.io sun.nio.ch java.nio.channels].freeze

      module_function

      # Without access to these packages JRuby gives a child the terminal for a pipe, and a read
      # of that pipe waits for ever.
      # @raise [UnsupportedError]
      def check(operation)
        ours =
          java
            .lang
            .Class
            .for_name("org.jruby.Ruby", false, ::JRuby.runtime.getJRubyClassLoader)
            .get_module
        base = java.lang.Object.java_class.to_java(java.lang.Class).get_module
        closed = PACKAGES.reject { |package| base.is_open(package, ours) }
        return if closed.empty?
        raise Errors.build(
          UnsupportedError,
          operation,
          nil,
          "this Java gives JRuby no pipes to children: start it with " \
            "#{closed.map { |package| "--add-opens java.base/#{package}=ALL-UNNAMED" }.join(" ")}"
        )
      end
    end

    class Stream
      # JRuby makes these, without a block, of the same class and without what that needs.
      %i[each_slice each_cons each_entry].each do |name|
        define_method(name) do |*size, &block|
          block ?
            super(*size, &block) :
            Enumerator.new { |yielder| public_send(name, *size) { |rows| yielder << rows } }
        end
      end
    end
  end
end
