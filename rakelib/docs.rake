# frozen_string_literal: true

desc "Build the reference into doc/; fail when something public has no comment"
task :docs do
  require "yard"
  YARD::Logger.instance.io = $stderr
  warnings = []
  YARD::Logger.instance.define_singleton_method(:warn) { |message| warnings << message }
  YARD::CLI::Yardoc.run("--quiet", "--no-progress", "--no-cache")

  bare = YARD::Registry.all(:class, :module, :method, :constant).select do |object|
    # YARD makes up a comment for an attribute that has none.
    (object.docstring.blank? || object.docstring.match?(/\A(Returns the value of|Sets the) attribute/)) && object.visibility == :public && !object.has_tag?(:private) &&
      !object.parent&.has_tag?(:private) && !(object.type == :method && object.is_alias?) &&
      !(object.type == :method && object.name == :initialize && !object.namespace.docstring.blank?) &&
      !(object.type == :method && object.namespace.type == :class && object.namespace.superclass.to_s == "Struct")
  end
  bare.each { |object| warn "#{object.file}:#{object.line}: #{object.path} has no comment" }
  warnings.each { |message| warn message }
  abort "rake docs: #{bare.size} public things without a comment, #{warnings.size} warnings" if bare.any? || warnings.any?
  puts "rake docs: #{YARD::Registry.all(:method).size} methods, all with a comment"
end
