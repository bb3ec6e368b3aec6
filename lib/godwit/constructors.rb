# frozen_string_literal: true

module Godwit
  # Extends classes whose `new` takes keywords: refuses an unknown keyword and names the nearest. If
  # `initialize` takes `**`, options' names are accepted, and {Options} checks them later.
  # @private
  module Keywords
    # Keywords whose nil would silently turn a protection off.
    SECURITY = %i[
      auth curve keys plain plain_password plain_username public_key server_key
    ].freeze

    def new(*arguments, **options, &block)
      Keywords.check(self, options)
      super
    end

    def self.check(klass, options, called = klass)
      return if options.empty?
      refuse_nil(:new, options)
      known = Runtime.keywords(klass)
      passed_on = known.delete(:**)
      options.each_key do |name|
        next if known.include?(name)
        next if passed_on && (Options::SOCKET.key?(name) || Options::CONTEXT.key?(name))
        near = Runtime.similar(name, known) unless passed_on && Options.guessed?(name)
        next if passed_on && near.nil?
        hint = "; did you mean #{near}:?" if near
        hint ||= " (it takes #{known.map { |one| "#{one}:" }.join(", ")})"
        raise Errors.of(ArgumentValueError, :new, "#{called} takes no #{name}:#{hint}")
      end
    end

    def self.refuse_nil(operation, options)
      name = SECURITY.find { |one| options.fetch(one, true).nil? } or return
      raise Errors.of(ArgumentValueError, operation, "#{name}: is nil: is the variable that " \
        "holds it set, such as ENV[\"NAME\"]? Leave #{name}: out to do without")
    end
  end
  private_constant :Keywords

  # The block form of a constructor, such as `Godwit::PULL.bind(endpoint) { |pull| … }`.
  # @private
  module AutoClose
    # Yields the object, then closes it. A child that was forked in the block does not close it.
    # @return [Object] the block's value; without a block the object, still open
    def self.with(object)
      return object unless block_given?
      begin
        yield object
      ensure
        object.close unless object.forked?
      end
    end

    # @return [Boolean] whether this process was forked from the process that made the object
    def forked? = _forked?
  end
end
