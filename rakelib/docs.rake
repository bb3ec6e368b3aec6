# frozen_string_literal: true

require "pathname"

# Faults in the comment of a public method: it needs a @param for each parameter and a @return, also
# in overloads. A writer returns its argument, so it needs no @return.
missing_tags = lambda do |method|
  texts = [method.docstring, *method.docstring.tags(:overload).map(&:docstring)]
  named = texts.flat_map { |text| text.tags(:param).map { |tag| tag.name.delete("*") } }
  parameters =
    method
      .parameters
      .map(&:first)
      .reject { |name| name.start_with?("&") || name == "..." }
      .map { |name| name.delete("*:") }
  # YARD makes up the writer's.
  parameters = [] if method.attr_info && !method.attr_info.compact.empty?
  missing = (parameters - named).map { |name| "@param #{name}" }
  returns =
    texts.any? { |text| text.has_tag?(:return) } || method.name == :initialize ||
    method.name.match?(/\w=\z/)
  returns ? missing : [*missing, "@return"]
end

# Pages link to each other by path. In the reference a page is file.NAME.html; other files are in
# the repository.
link_pages = lambda do |folder|
  homepage = Gem::Specification.load("godwit.gemspec").homepage
  Dir["#{folder}/**/*.html"].flat_map do |path|
    name = File.basename(path)[/\Afile\.(.*)\.html\z/, 1]
    source = Dir["{docs,work/docs}/#{name}.md"].first || "README.md"
    text = File.read(path).gsub(/href="([\w.\/-]+)(#[^"]*)?"/) do |whole|
      target, anchor = $~.captures
      target = Pathname(source).dirname.join(target).cleanpath.to_s
      next whole unless target.match?(%r{\.(?:md|rb|rake|c|yml)\z|\A(?:adr|bench|LICENSE)})
      page = "file.#{File.basename(target, ".md")}.html"
      page = "#{homepage}/blob/main/#{target}" unless File.exist?(File.join(folder, page))
      %(href="#{page}#{anchor}")
    end
    File.write(path, text)
    text.scan(/href="([^":#]+\.html)(?:#[^"]*)?"/).flatten.uniq.filter_map do |target|
      "#{path}: no #{target}" unless File.exist?(File.expand_path(target, File.dirname(path)))
    end
  end
end

desc "Build the reference into doc/; fail when something public has no comment, or a comment no " \
  "tag for a parameter or value"
task :docs do
  require "yard"
  YARD::Logger.instance.io = $stderr
  warnings = []
  %i[warn error].each do |level|
    YARD::Logger.instance.define_singleton_method(level) { |message| warnings << message }
  end
  # A private constant is private without a tag, and its methods with it.
  YARD::Parser::SourceParser.after_parse_list do
    hidden = YARD::Registry.all(:class, :module).select { |one| one.visibility == :private }
    hidden.each { |one| one.docstring.add_tag(YARD::Tags::Tag.new(:private, "")) }
  end
  YARD::CLI::Yardoc.run("--quiet", "--no-progress", "--no-cache")

  warnings.concat(link_pages.call("doc"))
  # The reference has one folder for the pages of both gems.
  Dir["{docs,work/docs}/*.md"].group_by { |path| File.basename(path) }.each_value do |paths|
    warnings << "#{paths.join(" and ")} have one name" if paths.size > 1
  end

  bare = YARD::Registry.all(:class, :module, :method, :constant).select do |object|
    # YARD makes up a comment for an attribute that has none.
    (
      object.docstring.blank? ||
        object.docstring.match?(/\A(Returns the value of|Sets the) attribute/)
    ) && object.visibility == :public && !object.has_tag?(:private) &&
      !object.parent&.has_tag?(:private) && !(object.type == :method && object.is_alias?) &&
      !(
        object.type == :method && object.name == :initialize && !object.namespace.docstring.blank?
      ) &&
      !(
        object.type == :method && object.namespace.type == :class &&
          object.namespace.superclass.to_s == "Struct"
      )
  end
  bare.each { |object| warn "#{object.file}:#{object.line}: #{object.path} has no comment" }
  hidden = ->(object) do
    !object.root? && (object.has_tag?(:private) || hidden.call(object.namespace))
  end
  methods =
    YARD::Registry
      .all(:method)
      .select { |method| method.visibility == :public && !method.is_alias? && !hidden.call(method) }
  untagged =
    methods
      .to_h { |method| [method, missing_tags.call(method)] }
      .reject { |_, missing| missing.empty? }
  untagged.each do |method, missing|
    warn "#{method.file}:#{method.line}: #{method.path} has no #{missing.join(", no ")}"
  end
  warnings.each { |message| warn message }
  if [bare, untagged, warnings].any?(&:any?)
    abort "rake docs: #{bare.size} public things without a comment, #{untagged.size} without a " \
      "tag, #{warnings.size} warnings"
  end
  puts "rake docs: #{YARD::Registry.all(:method).size} methods, all with a comment, " \
    "the #{methods.size} public ones with their tags"
end

namespace :docs do
  desc "Run the commands whose sample output the pages show, and write it anew"
  task samples: :compile do
    require_relative "support/samples"
    Godwit::Samples.write
  end
end
