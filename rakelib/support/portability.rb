# frozen_string_literal: true

require "open3"
require "prism"
require_relative "build_folder"

# Ruby that mruby 3.1 or 3.3 lacks, or runs in another way than CRuby, in the files of
# mruby/manifest and edge/manifest. The compiler mrbc finds no more than errors of syntax.
module Portability
  ROOT = BuildFolder::ROOT
  MANIFESTS = %w[mruby/manifest edge/manifest].freeze
  CONSTANTS = %i[
    Encoding EncodingError ObjectSpace Process Ractor Regexp Thread ThreadError
  ].freeze
  CALLS = {
    module_function: "mruby lacks it: def self.name",
    warn: "mruby lacks it: Runtime.report",
    full_message: "mruby lacks it: Runtime.report",
    private_class_method: "mruby lacks it: # @private",
    public_send: "mruby lacks it: __send__",
    match?: "mruby has no Regexp",
    force_encoding: "mruby has no Encoding",
    valid_encoding?: "mruby has no Encoding",
    scrub: "mruby lacks it: Runtime.scrub",
    sum: "mruby lacks it: map and reduce",
    require: "the manifest states the order",
    require_relative: "the manifest states the order",
    autoload: "the manifest states the order"
  }.freeze
  # They are public names of the library too.
  WITHOUT_RECEIVER = %i[module_function warn require require_relative autoload].freeze
  # The largest Integer of mruby.
  LARGEST = 2**63 - 1

  module_function

  # @return [Array<String>] "path:line: what is wrong"
  def problems
    MANIFESTS.flat_map { |manifest| in_manifest(manifest) } + compiler_problems
  end

  def in_manifest(manifest)
    BuildFolder.manifest(manifest).flat_map do |path|
      full = File.join(ROOT, path)
      next ["#{manifest}: there is no #{path}"] unless File.file?(full)
      in_source(File.read(full), path)
    end
  end

  def paths = MANIFESTS.flat_map { |manifest| BuildFolder.manifest(manifest) }

  # @return [Array<String>]
  def in_source(source, path = "(source)")
    finder = Finder.new(path)
    Prism.parse(source).value.accept(finder)
    finder.problems
  end

  # What `mrbc -c` says, where there is one.
  def compiler_problems(compiler = "mrbc")
    paths.filter_map do |path|
      said, status = Open3.capture2e(compiler, "-c", path, chdir: ROOT)
      "#{path}: #{said.lines.first&.strip}" unless status.success?
    end
  rescue Errno::ENOENT
    []
  end

  # Visits a syntax tree.
  class Finder < Prism::Visitor
    attr_reader :problems

    def initialize(path)
      @path = path
      @problems = []
      @keywords = @named = @news = @endless = false
      super()
    end

    def visit_defined_node(node) = found(node, "mruby lacks defined?")
    def visit_regular_expression_node(node) = found(node, "mruby has no Regexp")
    def visit_interpolated_regular_expression_node(node) = found(node, "mruby has no Regexp")
    def visit_numbered_reference_read_node(node) = found(node, "mruby has no Regexp")

    def visit_global_variable_read_node(node)
      found(node, "mruby lacks #{node.name}") if %i[$! $@ $~].include?(node.name)
    end

    def visit_constant_read_node(node)
      found(node, "mruby lacks #{node.name}") if CONSTANTS.include?(node.name)
    end

    def visit_constant_path_node(node)
      return super if node.parent
      found(node, "mruby lacks #{node.name}") if CONSTANTS.include?(node.name)
    end

    def visit_integer_node(node)
      found(node, "mruby's Integers end at 2**63 - 1") if node.value > LARGEST
    end

    def visit_if_node(node)
      ternary = @endless && node.if_keyword_loc.nil?
      parts = [node.statements, node.subsequent&.statements]
      if ternary && parts.any? { |part| calls_super?(part) }
        found(node, "mruby 3.1 gives super here a wrong block: write def and end")
      end
      super
    end

    def visit_forwarding_super_node(node)
      found(node, "mruby 3.1 hands no named keyword on: write super's arguments") if @named
      super
    end

    def visit_hash_node(node)
      splat_first(node)
      super
    end

    def visit_keyword_hash_node(node)
      splat_first(node)
      super
    end

    def visit_def_node(node)
      before = [@keywords, @named, @news, @endless]
      parameters = node.parameters
      @named = !parameters.nil? && parameters.keywords.any?
      @keywords = @named || !parameters&.keyword_rest.nil?
      @news = node.name == :new
      @endless = !node.equal_loc.nil?
      super
      @keywords, @named, @news, @endless = before
    end

    def visit_call_node(node)
      call(node)
      super
    end

    private

    def call(node)
      if CALLS.key?(node.name) && (node.receiver.nil? || !WITHOUT_RECEIVER.include?(node.name))
        return if node.name == :module_function && node.arguments
        return if node.receiver.is_a?(Prism::ConstantReadNode) && node.receiver.name == :Runtime
        found(node, "#{node.name}: #{CALLS.fetch(node.name)}")
      end
      case node.name
      when :=~, :!~ then found(node, "mruby has no Regexp")
      when :** then power(node)
      when :raise then raising(node) unless node.receiver
      when :block_given? then block_given(node)
      when :delete, :count then range(node)
      end
      found(node, "mruby lacks keyword_init:") if keyword?(node, "keyword_init")
    end

    def splat_first(node)
      return unless node.elements.size > 1 && node.elements.first.is_a?(Prism::AssocSplatNode)
      found(node, "mruby 3.1 changes a Hash that stands first with **: use merge")
    end

    def range(node)
      text = node.arguments&.arguments&.first
      return unless text.is_a?(Prism::StringNode) && text.unescaped.match?(/.-./)
      found(node, "mruby 3.1 leaves out the end of a range")
    end

    def power(node)
      base, exponent = [node.receiver, node.arguments&.arguments&.first]
      return unless [base, exponent].all?(Prism::IntegerNode)
      found(node, "mruby's Integers end at 2**63 - 1") if base.value**exponent.value > LARGEST
    end

    def raising(node)
      found(node, "mruby 3.1 lacks cause:: raise behind the rescue") if keyword?(node, "cause")
      found(node, "mruby has no $!: name the error, and raise it") unless node.arguments
    end

    def block_given(node)
      found(node, "block_given? is wrong in def new on mruby 3.1: take &block") if @news
      found(node, "block_given? is wrong beside keywords on mruby 3.1: take &block") if @keywords
    end

    def keyword?(node, name)
      last = node.arguments&.arguments&.last
      last.is_a?(Prism::KeywordHashNode) && last.elements.any? do |pair|
        pair.is_a?(Prism::AssocNode) && pair.key.is_a?(Prism::SymbolNode) &&
          pair.key.unescaped == name
      end
    end

    def calls_super?(statements)
      statements&.body&.any? do |node|
        node.is_a?(Prism::SuperNode) || node.is_a?(Prism::ForwardingSuperNode)
      end
    end

    def found(node, problem)
      @problems << "#{@path}:#{node.location.start_line}: #{problem}"
    end
  end
  private_constant :Finder
end
