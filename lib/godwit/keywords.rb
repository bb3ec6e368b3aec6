# frozen_string_literal: true

module Godwit
  # For classes whose `new` takes keywords: refuses one that nobody knows, and names the nearest.
  # Where `new` passes keywords on to a socket or a context, {Options} judges those that are none of
  # its own.
  # @private
  module Keywords
    # @raise [ArgumentValueError] as {check}
    def new(*arguments, **options, &block)
      Keywords.check(self, options)
      super
    end

    # @param klass [Class]
    # @param options [Hash] keywords of its `initialize`
    # @param called [Class] whose `new` was called
    # @raise [ArgumentValueError] for one that it does not know
    def self.check(klass, options, called = klass)
      return if options.empty?
      parameters = klass.instance_method(:initialize).parameters
      known = parameters.filter_map { |kind, name| name if kind == :key || kind == :keyreq }
      passed_on = parameters.any? { |kind, _| kind == :keyrest }
      options.each_key do |name|
        if known.include?(name) ||
            (passed_on && (Options::SOCKET.key?(name) || Options::CONTEXT.key?(name)))
          next
        end
        near = DidYouMean::SpellChecker.new(dictionary: known).correct(name.to_s).first if defined?(
          DidYouMean::SpellChecker
        )
        next if passed_on && near.nil?
        hint =
          if near then "; did you mean #{near}:?"
          else " (it takes #{known.map { |one| "#{one}:" }.join(", ")})"
          end
        raise ArgumentValueError.new("new: #{called} takes no #{name}:#{hint}", operation: :new)
      end
    end
  end
  private_constant :Keywords
end
