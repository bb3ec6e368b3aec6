# frozen_string_literal: true

require "prism"

module Faults
  # Where a Ruby file can have a fault. {.of} gives [index of the line, kind, new line].
  class RubySites < Prism::Visitor
    # @param lines [Array<String>]
    # @return [Array<Array(Integer, String, String)>]
    def self.of(lines)
      visitor = new(lines)
      Prism.parse(lines.join("\n")).value.accept(visitor)
      visitor.sites
    end

    def self.valid?(lines, _path) = Prism.parse(lines.join("\n").gsub("@@", "1")).success?

    attr_reader :sites

    def initialize(lines)
      super()
      @lines = lines
      @sites = []
    end

    %i[if unless while until].each do |word|
      define_method(:"visit_#{word}_node") do |node|
        wrap(node.predicate, "negated") { |text| "(GW_FAULT[@@] ^ (#{text}))" }
        super(node)
      end
    end

    def visit_integer_node(node)
      wrap(node, "off by one") { |text| "(GW_FAULT[@@] ? #{node.value + 1} : #{text})" }
    end

    def visit_def_node(node)
      within = @method
      @method = node
      super
      @method = within
    end

    # A return in a block may come from another thread.
    def visit_block_node(node)
      within = @block
      @block = true
      super
      @block = within
    end
    alias_method :visit_lambda_node, :visit_block_node

    def visit_statements_node(node)
      node.body.each_with_index { |statement, i| add_statement(statement, i) } if @method
      super
    end

    private

    def add_statement(statement, index)
      return if statement.is_a?(Prism::NilNode)
      if one_line?(statement)
        wrap(statement, "left out") { |text| "(GW_FAULT.runs(@@) and #{text})" }
      elsif !@method.equal_loc
        insert(statement, "left out", "GW_FAULT.runs(@@) and ")
      end
      return if index.zero? || @block
      insert(statement, "early return", "return if GW_FAULT[@@]; ")
    end

    def wrap(node, kind)
      return unless one_line?(node)
      location = node.location
      add(location, kind, location.start_column...location.end_column) { yield node.slice }
    end

    def insert(node, kind, text)
      column = node.location.start_column
      add(node.location, kind, column...column) { text }
    end

    def add(location, kind, columns)
      index = location.start_line - 1
      line = @lines[index].b
      line[columns] = yield.b
      @sites << [index, kind, line.force_encoding(Encoding::UTF_8)]
    end

    def one_line?(node) = node.location.start_line == node.location.end_line
  end
end
