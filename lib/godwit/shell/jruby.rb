# frozen_string_literal: true

require "java"
require "jruby"

module Godwit
  module Shell
    # Checks the options that Java was started with.
    # @private
    module JavaModules
      PACKAGES = %w[java.io sun.nio.ch java.nio.channels].freeze

      module_function

      # Without access to these packages JRuby gives a child the terminal instead of a pipe, and a
      # read of that pipe waits for ever.
      def check(operation)
        loader = ::JRuby.runtime.getJRubyClassLoader
        ours = java.lang.Class.for_name("org.jruby.Ruby", false, loader).get_module
        base = java.lang.Object.java_class.to_java(java.lang.Class).get_module
        closed = PACKAGES.reject { |package| base.is_open(package, ours) }
        return if closed.empty?
        opens = closed.map { |package| "--add-opens java.base/#{package}=ALL-UNNAMED" }.join(" ")
        raise Errors.build(UnsupportedError, operation, nil,
          "this Java gives JRuby no pipes to children: start it with #{opens}")
      end
    end
  end
end
