# frozen_string_literal: true

require "yard"

module Godwit
  module TestSupport
    # What the library's comments document, parsed once for the tests of comments and of types.
    module Reference
      module_function

      ROOT = File.expand_path("../..", __dir__)

      # Kept in the module: several classes of tests include it.
      # @return [YARD::Registry] of the files that .yardopts names
      def registry
        @@registry ||= begin
          excluded = File.read("#{ROOT}/.yardopts").scan(/^--exclude (.+)/).flatten
          YARD.parse("#{ROOT}/{lib,work/lib}/**/*.rb", excluded, YARD::Logger::ERROR)
          YARD::Registry
        end
      end

      # @return [YARD::CodeObjects::Base, nil] nil for what is the tests' own, or made at run time
      def documented(path) = registry.at(path)

      # @return [Boolean] whether it is private, or within what is
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
