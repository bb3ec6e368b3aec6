# frozen_string_literal: true

# JSON.parse and JSON.generate are C.
module JSON
  # A text is no JSON.
  class ParserError
    # @return [Integer] of the byte at which the parser stopped
    attr_reader :offset
  end
end

class Object
  # What has no form of its own in JSON is its `to_s`.
  # @return [String]
  def to_json(*) = JSON.generate(to_s)
end

[String, Symbol, Float, Hash, Array, NilClass, TrueClass, FalseClass].each do |klass|
  klass.class_eval do
    def to_json(*) = JSON.generate(self)
  end
end

class Integer
  # Without JSON.generate, since a larger one than int64 is no number there.
  def to_json(*) = to_s
end
