# frozen_string_literal: true

require "pathname"

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
    text = text.gsub('src="docs/pictures/', 'src="pictures/')
    File.write(path, text)
    text.scan(/href="([^":#]+\.html)(?:#[^"]*)?"/).flatten.uniq.filter_map do |target|
      "#{path}: no #{target}" unless File.exist?(File.expand_path(target, File.dirname(path)))
    end
  end
end

desc "Build the reference into doc/; fail when YARD warns, or a link in it leads nowhere"
task docs: "docs:manuals" do
  require "yard"
  YARD::Logger.instance.io = $stderr
  warnings = []
  %i[warn error].each do |level|
    YARD::Logger.instance.define_singleton_method(level) { |message| warnings << message }
  end
  # A private constant is private without a tag, and all that it contains.
  hide = lambda do |one|
    one.docstring.add_tag(YARD::Tags::Tag.new(:private, ""))
    one.children.grep(YARD::CodeObjects::NamespaceObject).each(&hide)
  end
  YARD::Parser::SourceParser.after_parse_list do
    YARD::Registry.all(:class, :module).select { |one| one.visibility == :private }.each(&hide)
  end
  YARD::CLI::Yardoc.run("--quiet", "--no-progress", "--no-cache")

  warnings.concat(link_pages.call("doc"))
  # The reference has one folder for the pages of both gems.
  Dir["{docs,work/docs}/*.md"].group_by { |path| File.basename(path) }.each_value do |paths|
    warnings << "#{paths.join(" and ")} have one name" if paths.size > 1
  end

  warnings.each { |message| warn message }
  abort "rake docs: #{warnings.size} warnings" if warnings.any?
  puts "rake docs: the reference has #{YARD::Registry.all(:method).size} methods"
end

namespace :docs do
  desc "Write the manual pages of the command into man/"
  task manuals: :compile do
    $LOAD_PATH.unshift("lib")
    require_relative "support/manual_pages"
    Godwit::ManualPages.write
  end

  desc "Run the commands whose sample output the pages show, and write it anew"
  task samples: :compile do
    require_relative "support/samples"
    Godwit::Samples.write
  end

  desc "Make docs/pictures/*.svg from the *.dot beside them (needs Debian's package graphviz)"
  task :pictures do
    require_relative "support/pictures"
    Godwit::Pictures.new.write
  end
end
