# frozen_string_literal: true

require_relative "mechanism"

module Godwit
  class Auth
    # An immutable set of rules, so that a request sees a change completely or not at all.
    class Rules
      # `kinds` has rules by kind (:deny, :allow, a {Mechanism}), then by domain (nil: no domain).
      def initialize(kinds = {})
        @kinds = kinds.freeze
        freeze
      end

      # @return [Object, nil] the rule with exactly this domain
      def at(kind, domain) = of(kind)[domain&.b]

      # @return [Array<Object>] the rules of a kind, first the rule without domain
      def all(kind) = of(kind).sort_by { |domain, _| domain.to_s }.map(&:last)

      def with(kind, domain, rule)
        Rules.new(@kinds.merge(kind => of(kind).merge(domain&.b&.freeze => rule).freeze))
      end

      def without(domain)
        Rules.new(
          @kinds.transform_values { |known| known.reject { |name, _| name == domain&.b }.freeze }
        )
      end

      # @return [Decision, Mechanism] a Mechanism: the block of this rule decides
      def decide(request, starting)
        deny, allow = find(:deny, request), find(:allow, request)
        return Decision.refuse(request, "a deny rule matches its address") if deny&.match?(request)
        if allow && !allow.match?(request)
          return Decision.refuse(request, "no allow rule matches its address")
        end
        mechanism = MECHANISMS[request.mechanism]
        rule = find(mechanism, request) or return mechanism.without_rule(request, starting)
        request.decide(rule) || rule
      end

      private

      def of(kind) = @kinds.fetch(kind, {})

      # The rule of a domain replaces the rule without domain.
      def find(kind, request) = of(kind)[request.raw_domain] || of(kind)[nil]
    end
    private_constant :Rules
  end
end
