# frozen_string_literal: true

module Godwit
  # The block form of a constructor, such as `Godwit::PULL.bind(endpoint) { |pull| … }`. A class
  # that uses it answers {#forked?}.
  # @private
  module AutoClose
    # Yields the object, then closes it. A child forked in the block leaves it to its parent.
    # @param object [#close, #forked?]
    # @return [Object] the block's value; without a block the object, still open
    def self.with(object)
      return object unless block_given?
      begin
        yield object
      ensure
        object.close unless object.forked?
      end
    end

    # @return [Boolean] whether this process was forked from the one that made the object
    def forked? = _forked?
  end
end
