# frozen_string_literal: true

require "test_helper"
require_relative "reference"

# Everything public has a comment. The comment has a tag for each parameter and for the return
# value, and all its links have targets.
class CommentsTest < Godwit::TestCase
  include Godwit::TestSupport::Reference

  deadline 600 # the first test parses the library

  # YARD makes up a comment for an attribute that has none.
  MADE_UP = /\A(Returns the value of|Sets the) attribute/
  LINK = /(?<![\\`!#])\{((?:file:|[A-Z#.])[\w:#.?!=\/-]*)(?:\s[^}]*)?\}/

  test "everything public has a comment" do
    bare = public_objects(:class, :module, :method, :constant).select do |object|
      text = object.docstring
      (text.blank? || text.match?(MADE_UP)) && !without_comment?(object)
    end
    assert_equal [], bare.map { |object| "#{place(object)} has no comment" }
  end

  test "each public method has a @param for each parameter, and a @return" do
    methods = public_objects(:method).reject(&:is_alias?)
    assert_operator methods.size, :>, 900
    assert_equal [], methods.filter_map { |method|
      missing = missing_tags(method)
      "#{place(method)} has no #{missing.join(", no ")}" if missing.any?
    }
  end

  test "a socket suggests no method that is for Godwit alone" do
    methods = registry.all(:method).select do |method|
      method.path.match?(/\AGodwit::(?:Socket|AutoClose)\b.*#[a-z]/) && method.has_tag?(:private) &&
        Godwit::REQ.public_method_defined?(method.name)
    end
    methods = methods.map(&:name).uniq - [:initialize_copy] - Godwit::Options::SOCKET.keys
    assert_empty methods - Godwit::Socket::UnknownMethods::INTERNAL
    assert_operator methods.size, :>=, 5
  end

  test "links in comments lead to something" do
    wrong = public_objects(:class, :module, :method, :constant).flat_map do |object|
      texts = [object.docstring, *object.tags, *object.tags(:overload).flat_map(&:tags)]
      names = texts.flat_map { |one| ((one.is_a?(String) ? one : one.text) || "").scan(LINK) }
      names.flatten.reject { |name| leads?(object, name) }
        .map { |name| "#{place(object)} links to #{name}" }
    end
    assert_equal [], wrong
  end

  private

  def place(object) = "#{object.file}:#{object.line}: #{object.path}"

  def leads?(object, name)
    return File.file?("#{ROOT}/#{name.delete_prefix("file:")}") if name.start_with?("file:")
    found = registry.resolve(object, name, true, true)
    found && !found.is_a?(YARD::CodeObjects::Proxy)
  end

  def without_comment?(object)
    return false unless object.type == :method
    return true if object.is_alias?
    return true if object.name == :initialize && !object.namespace.docstring.blank?
    object.namespace.type == :class && object.namespace.superclass.to_s == "Struct"
  end

  # An @overload may have the tags. A writer returns its argument, so it needs no @return.
  def missing_tags(method)
    texts = [method.docstring, *method.docstring.tags(:overload).map(&:docstring)]
    named = texts.flat_map { |text| text.tags(:param).map { |tag| tag.name.delete("*") } }
    missing = (parameters(method) - named).map { |name| "@param #{name}" }
    returns = texts.any? { |text| text.has_tag?(:return) } || method.name == :initialize ||
      method.name.match?(/\w=\z/)
    returns ? missing : [*missing, "@return"]
  end

  def parameters(method)
    return [] if method.attr_info && !method.attr_info.compact.empty? # YARD invents parameters
    method.parameters.map(&:first)
      .reject { |name| name.start_with?("&") || name == "..." }
      .map { |name| name.delete("*:") }
  end
end
