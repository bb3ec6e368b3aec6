# frozen_string_literal: true

require "pathname"
require "prism"
require_relative "../../lib/godwit/backend/contract"
require_relative "class_rules"
require_relative "portability"

# Limits on the text of the code: columns, lines of a file, names in the backend contract, lines of
# a comment, and sentences without a named subject (docs, comments).
module TextRules
  ROOT = File.expand_path("../..", __dir__)
  COLUMNS = 100
  LINES = {
    "lib" => 400, "work/lib" => 400, "edge/lib" => 400, "edge/command" => 400, "edge/test" => 400,
    "ext" => 500, "work/ext" => 500, "edge/src" => 500
  }.freeze
  CONTRACT_NAMES = 100
  COMMENT_LINES = 3
  PAGE_LINES = 60
  PAGE_COLUMNS = 160
  SECTIONS = %w[Context Decision Consequences].freeze
  GENERATED = %r{/generated/|constants\.h}
  CODE = "{lib,ext,mruby,edge,test,rakelib,work}/**/*.{rb,rake,c,h}"
  PAGES = "{README,CHANGELOG,CONTRIBUTING}.md"
  GEMS = %w[godwit.gemspec godwit-work.gemspec].freeze

  # Words that stand for a thread, a process or an object instead of its name (STYLE: Prose).
  HEADLESS = /(?:\A|[.:;] )(?:Whoever|Who [a-z]+s\b)|\b(?:[Hh]e|[Hh]is|[Hh]im|[Ww]hoever)\b/

  # Task of `rake lint` => what it checks.
  RULES = {
    columns: "At most 100 columns in lib, ext, mruby, edge, test, rakelib and work",
    lines: "At most 400 lines a file of Ruby in lib, work/lib and edge, 500 of C",
    classes: "One class, one file; a mixin needs nothing of the class that includes it",
    contract: "At most 100 names in the backend contract",
    comments: "At most three lines a comment, documentation apart",
    decisions: "An ADR has at most 60 lines of 160 columns, and Context, Decision, Consequences",
    portability: "The files of mruby/manifest and edge/manifest hold no Ruby that mruby lacks",
    links: "Links between pages lead to a file and a heading; a gem holds each page it links to",
    prose: "No sentence without a named subject in comments and pages"
  }.freeze

  module_function

  # @return [Array<String>] "path:line: what is wrong"
  def columns = each_line(CODE) { |line| "#{line.size} columns" if line.size > COLUMNS }

  # @return [Array<String>]
  def lines
    LINES.flat_map do |folder, most|
      paths("#{folder}/**/*.{rb,c,h}").filter_map do |path|
        count = File.foreach(File.join(ROOT, path)).count
        "#{path}: #{count} lines, at most #{most}" if count > most
      end
    end
  end

  # @return [Array<String>]
  def contract
    contract = Godwit::Backend::Contract
    count = [
      contract::MODULE, contract::CONTEXT_CLASS, contract::DRAFT_SOCKET, *contract::CLASSES.values
    ].sum(&:size)
    (count > CONTRACT_NAMES) ? ["the contract has #{count} names, at most #{CONTRACT_NAMES}"] : []
  end

  # @return [Array<String>]
  def classes = ClassRules.problems

  # @return [Array<String>]
  def portability = Portability.problems

  # Blocks of comment lines that are no documentation of something public.
  # @return [Array<String>]
  def comments
    paths("{lib,rakelib,work,edge}/**/*.{rb,rake}").flat_map { |path| long_ruby_comments(path) } +
      paths("{ext,work/ext,edge}/**/*.{c,h}").flat_map { |path| long_c_comments(path) }
  end

  # @return [Array<String>]
  def decisions
    paths("adr/*.md").flat_map do |path|
      lines = File.readlines(File.join(ROOT, path), chomp: true)
      sections = lines.grep(/\A## /).map { |line| line.delete_prefix("## ") }
      wide = lines.find { |line| line.size > PAGE_COLUMNS && !line.start_with?("|") }
      [
        ("#{path}: #{lines.size} lines, at most #{PAGE_LINES}" if lines.size > PAGE_LINES),
        ("#{path}: the sections are #{sections.join(", ")}" if sections != SECTIONS),
        ("#{path}: over #{PAGE_COLUMNS} columns: #{wide[0, 40]}" if wide)
      ].compact
    end
  end

  # @return [Array<String>]
  def links
    gems = Dir.chdir(ROOT) { GEMS.map { |file| Gem::Specification.load(file).files } }
    paths("{*.md,{docs,adr,bench,test,work/docs}/*.md}").flat_map do |path|
      packed = gems.find { |files| files.include?(path) }
      text = File.read(File.join(ROOT, path)).gsub(/^```.*?^```/m, "")
      text.scan(/\]\(([^)\s]+)\)/).flatten.grep_v(/\A(?:https?|mailto):/).filter_map do |link|
        problem = broken(path, link, packed) and "#{path}: #{link}: #{problem}"
      end
    end
  end

  def broken(path, link, packed)
    file, anchor = link.split("#", 2)
    target = file.empty? ? path : File.join(File.dirname(path), file)
    target = Pathname(target).cleanpath.to_s
    return "no such file" unless File.exist?(File.join(ROOT, target))
    return "the gem lacks it" if packed && target.end_with?(".md") && !packed.include?(target)
    "no such heading" if anchor && !headings(target).include?(anchor)
  end

  # As GitHub makes them.
  def headings(path)
    File.readlines(File.join(ROOT, path), chomp: true).grep(/\A#+ /).map do |line|
      line.sub(/\A#+ /, "").downcase.gsub(/[^\p{Word}\- ]/, "").tr(" ", "-")
    end
  end

  # @return [Array<String>]
  def prose
    found = paths(CODE).flat_map do |path|
      comment_lines(path).filter_map { |number, text| headless(path, number, text) }
    end
    found + paths(PAGES).concat(paths("{docs,adr,work/docs}/*.md")).flat_map do |path|
      File.readlines(File.join(ROOT, path)).filter_map.with_index(1) do |text, number|
        headless(path, number, text)
      end
    end
  end

  def headless(path, number, text)
    word = text.gsub(/`[^`]*`|"[^"]*"/, "")[HEADLESS] or return
    "#{path}:#{number}: name the subject instead of #{word.strip.inspect}"
  end

  def paths(pattern) = Dir.glob(pattern, base: ROOT).grep_v(GENERATED).sort

  def each_line(pattern)
    paths(pattern).flat_map do |path|
      File.readlines(File.join(ROOT, path), chomp: true).filter_map.with_index(1) do |line, number|
        problem = yield(line) and "#{path}:#{number}: #{problem}"
      end
    end
  end

  # @return [Array<Array(Integer, String)>] line number and text
  def comment_lines(path)
    text = File.read(File.join(ROOT, path))
    if path.match?(/\.[ch]\z/)
      return (
        c_comments(text).flat_map do |first, lines|
          lines.each_with_index.map { |line, index| [first + index, line] }
        end
      )
    end
    Prism.parse(text).comments.map { |comment| [comment.location.start_line, comment.slice] }
  end

  # @return [Array<Array(Integer, Array<String>)>] first line's number, and the lines
  def c_comments(text)
    text.to_enum(:scan, %r{/\*.*?\*/}m).map do
      [$~.pre_match.count("\n") + 1, $~[0].lines(chomp: true)]
    end
  end

  def long_c_comments(path)
    c_comments(File.read(File.join(ROOT, path))).filter_map do |number, lines|
      "#{path}:#{number}: a comment of #{lines.size} lines" if lines.size > COMMENT_LINES
    end
  end

  # A comment with a YARD tag, or before a class, module or method, is documentation.
  def long_ruby_comments(path)
    lines = File.readlines(File.join(ROOT, path), chomp: true)
    blocks = lines.each_index.slice_when { |a, b| !(comment?(lines[a]) && comment?(lines[b])) }
    blocks.filter_map do |block|
      text = lines.values_at(*block)
      following = lines[block.last + 1].to_s
      next if text.size <= COMMENT_LINES || !comment?(text[0]) || documentation?(text, following)
      "#{path}:#{block.first + 1}: a comment of #{text.size} lines"
    end
  end

  def comment?(line) = line.match?(/\A\s*#/)

  def documentation?(text, following)
    text.any? { |line| line.match?(/#\s+@\w/) } ||
      following.match?(
        /\A\s*(?:private_class_method |private )?(?:class|module|def|attr_\w+|alias)\b/
      )
  end
end
