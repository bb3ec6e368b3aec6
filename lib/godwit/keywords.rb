# frozen_string_literal: true

module Godwit
  # Extends classes whose `new` takes keywords: refuses an unknown keyword and names the nearest.
  # Names of options pass where `initialize` hands keywords on; {Options} checks those.
  # @private
  module Keywords
    def new(*arguments, **options, &block)
      Keywords.check(self, options)
      super
    end

    # @param options [Hash] keywords of its `initialize`
    # @param called [Class] whose `new` was called
    # @raise [ArgumentValueError] for an unknown keyword
    def self.check(klass, options, called = klass)
      return if options.empty?
      parameters = klass.instance_method(:initialize).parameters
      known = parameters.filter_map { |kind, name| name if kind == :key || kind == :keyreq }
      passed_on = parameters.any? { |kind, _| kind == :keyrest }
      options.each_key do |name|
        next if known.include?(name)
        next if passed_on && (Options::SOCKET.key?(name) || Options::CONTEXT.key?(name))
        near = Options.spelled_like(name, known)
        next if passed_on && near.nil?
        hint = "; did you mean #{near}:?" if near
        hint ||= " (it takes #{known.map { |one| "#{one}:" }.join(", ")})"
        raise Errors.of(ArgumentValueError, :new, "#{called} takes no #{name}:#{hint}")
      end
    end
  end
  private_constant :Keywords
end
