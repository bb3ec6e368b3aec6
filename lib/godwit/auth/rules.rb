# frozen_string_literal: true

require_relative "addresses"
require_relative "curve_rule"
require_relative "plain_rule"
require_relative "verdict"

module Godwit
  class Auth
    # An immutable set of rules, so that a request sees a change completely or not at all.
    # @private
    class Rules
      KINDS = %i[deny allow plain curve].freeze

      # @param kinds [Hash{Symbol => Hash{String, nil => Object}}] rules by kind and domain
      def initialize(kinds = KINDS.to_h { |kind| [kind, {}.freeze] })
        @kinds = kinds.freeze
        freeze
      end

      # @param domain [String, nil] nil: no domain
      # @return [Object, nil] the rule of exactly this domain
      def at(kind, domain) = @kinds.fetch(kind)[domain&.b]

      # @return [Array<Object>] the rules of a kind, first the rule without domain
      def all(kind) = @kinds.fetch(kind).sort_by { |domain, _| domain.to_s }.map(&:last)

      # @return [Rules] these rules and this rule
      def with(kind, domain, rule)
        known = @kinds.fetch(kind)
        Rules.new(@kinds.merge(kind => known.merge(domain&.b&.freeze => rule).freeze))
      end

      # @return [Rules] these rules without the rules of a domain
      def without(domain)
        Rules.new(
          @kinds.transform_values { |known| known.reject { |name, _| name == domain&.b }.freeze }
        )
      end

      # @param ask [ZAP::Ask]
      # @param starting [Boolean] whether the program may be adding its first rules
      # @return [Verdict]
      def judge(ask, starting)
        request = ask.request
        domain = ask.domain
        deny, allow = find(:deny, domain), find(:allow, domain)
        return Verdict.refuse("a deny rule matches its address") if deny&.match?(request)
        if allow && !allow.match?(request)
          return Verdict.refuse("no allow rule matches its address")
        end
        return Verdict.grant(nil, "NULL needs no rule") if request.mechanism == "NULL"
        by_mechanism(ask, domain, starting)
      end

      private

      # The rule of a domain replaces the rule without domain.
      def find(kind, domain)
        known = @kinds.fetch(kind)
        known[domain] || known[nil]
      end

      def by_mechanism(ask, domain, starting)
        mechanism = ask.request.mechanism
        kind = {"PLAIN" => :plain, "CURVE" => :curve}[mechanism]
        rule = kind && find(kind, domain)
        return rule.judge(ask) if rule
        # A client may come between `Auth.new` and the rule. It must be able to return.
        return Verdict.later("there is no rule for #{mechanism} yet") if kind && starting
        Verdict.refuse("there is no rule for #{mechanism}")
      end
    end
    private_constant :Rules
  end
end
