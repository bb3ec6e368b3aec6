# frozen_string_literal: true

require "yard"

module Godwit
  module TestSupport
    # YARD's registry of the library, parsed once for the tests of comments and of types.
    module Reference
      module_function

      ROOT = File.expand_path("../..", __dir__)

      # A class variable, so that all test classes that include the module share one registry.
      # @return [YARD::Registry] of the files that .yardopts names
      def registry
        @@registry ||= begin
          excluded = File.read("#{ROOT}/.yardopts").scan(/^--exclude (.+)/).flatten
          YARD.parse("#{ROOT}/{lib,work/lib}/**/*.rb", excluded, YARD::Logger::ERROR)
          YARD::Registry
        end
      end

      # @return [YARD::CodeObjects::Base, nil] nil: a test, or code at run time, defines the object
      def documented(path) = registry.at(path)

      # @return [Boolean] whether the object, or a module around it, is private
      def hidden?(object)
        until object.nil? || object.root?
          return true if object.has_tag?(:private) || object.visibility == :private
          object = object.namespace
        end
        false
      end

      # @param kinds [Array<Symbol>] such as :method
      # @return [Array<YARD::CodeObjects::Base>]
      def public_objects(*kinds)
        registry.all(*kinds).reject { |object| hidden?(object) || object.visibility == :protected }
      end
    end
  end
end
