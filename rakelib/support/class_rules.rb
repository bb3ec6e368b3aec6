# frozen_string_literal: true

require "prism"
require_relative "../../lib/godwit/backend/contract"

# One class, one file; and a mixin stands on its own: it calls no method and reads no instance
# variable that only the class which includes it has (ADR 41).
module ClassRules
  ROOT = File.expand_path("../..", __dir__)
  FILES = "{lib,work/lib}/**/*.rb"
  # Both layers make a ZMQ of their own; a process loads one of them.
  LAYER = %r{lib/godwit/compat/(rbczmq|ffi_rzmq)/}

  # What remains, and the reason.
  OTHER_GEM = "a class of another gem, method for method"
  SOCKET = "public methods of a socket, by their subject"
  SPLIT = {
    "Godwit" => "functions of the name space, beside what they are about",
    "Godwit::Monitor" => "FFI includes its primitives",
    "rbczmq::ZMQ::Socket" => OTHER_GEM
  }.freeze
  DEPENDENT = {
    "Godwit::Socket::Counts" => SOCKET,
    "Godwit::Socket::Drafts::Addressed" => SOCKET,
    "Godwit::Socket::Endpoints" => SOCKET,
    "Godwit::Socket::Frames" => SOCKET,
    "Godwit::Socket::Messages" => SOCKET,
    "Godwit::Socket::Monitoring" => SOCKET,
    "Godwit::Socket::Peers" => SOCKET,
    "Godwit::Socket::Settings" => SOCKET,
    "Godwit::Work::Batch::Methods" => "Enumerable's methods, by the batch's Array"
  }.freeze

  # What any object, class or Exception answers, and the primitives of a backend.
  KNOWN = [Object, Class, Module, Exception].flat_map { |klass|
    klass.instance_methods + klass.private_instance_methods
  }.concat(Godwit::Backend::Contract::CLASSES.values.flatten).uniq.freeze

  # The body of a class or module: what it defines, calls on self, reads, writes and mixes in.
  Body = Struct.new(:name, :path, :defined, :called, :read, :written, :mixed) do
    # @return [Boolean] whether it adds something to the class, and not only to its name space
    def opens? = defined.any? || mixed.any?

    # @return [Array<String>] the names that a constant in it may mean
    def meanings(constant)
      spaces = name.split("::")
      spaces.size.downto(0).map { |count| [*spaces.first(count), constant].join("::") }
    end
  end

  module_function

  # @return [Array<String>] what is wrong
  def problems
    bodies = Dir.glob(FILES, base: ROOT).sort.flat_map { |path| in_file(path) }
    split(bodies) + dependent(bodies)
  end

  def split(bodies)
    paths = bodies.select(&:opens?).group_by(&:name).transform_values { |all| all.map(&:path).uniq }
    unlisted(paths.select { |_, all| all.size > 1 }, SPLIT) { |all| "opened in #{all.join(", ")}" }
  end

  def dependent(bodies)
    by_name = bodies.group_by(&:name)
    mixins = bodies.flat_map { |body| mixed(body, by_name) }
    needs = by_name.slice(*mixins).transform_values { |all| foreign(all, by_name) }
    unlisted(needs.reject { |_, names| names.empty? }, DEPENDENT) do |names|
      "a mixin that needs #{names.join(", ")} of its class"
    end
  end

  # @return [Array<Symbol>] the methods and instance variables that a mixin does not have itself
  def foreign(bodies, by_name)
    own = bodies.flat_map { |body| mixed(body, by_name) }.flat_map { |name| by_name.fetch(name) }
    own += bodies
    calls = bodies.flat_map(&:called) - own.flat_map(&:defined) - KNOWN
    (calls + (bodies.flat_map(&:read) - own.flat_map(&:written))).uniq
  end

  # @return [Array<String>] the modules of the library that it mixes in
  def mixed(body, by_name)
    body.mixed.filter_map { |one| body.meanings(one).find { |name| by_name.key?(name) } }
  end

  def unlisted(found, listed)
    stale = (listed.keys - found.keys).map { |name| "#{name}: the list names it without need" }
    stale + found.except(*listed.keys).map { |name, details| "#{name}: #{yield details}" }
  end

  def in_file(path)
    finder = Finder.new(path)
    Prism.parse_file(File.join(ROOT, path)).value.accept(finder)
    finder.bodies
  end

  # Visits a syntax tree.
  class Finder < Prism::Visitor
    MIXING = %i[include prepend extend].freeze
    ATTRIBUTES = %i[attr_reader attr_writer attr_accessor].freeze

    attr_reader :bodies

    def initialize(path)
      @path = path
      @prefix = path[LAYER, 1]
      @bodies = []
      @open = []
      @singleton = 0 # methods of a module's own, which no class gets
      super()
    end

    def visit_class_node(node) = body(node)
    def visit_module_node(node) = body(node)

    def visit_singleton_class_node(node)
      return other_class { super } unless node.expression.is_a?(Prism::SelfNode)
      @open.last&.defined&.push(:singleton)
      singleton { super }
    end

    def visit_def_node(node)
      @open.last&.defined&.push(node.name)
      node.receiver ? singleton { super } : super
    end

    def visit_alias_method_node(node)
      @open.last&.defined&.push(node.new_name.unescaped.to_sym)
      super
    end

    def visit_call_node(node)
      return other_class { super } if makes_class?(node)
      call(node) if @open.any? && [nil, Prism::SelfNode].include?(node.receiver&.class)
      super
    end

    def visit_instance_variable_read_node(node) = seen(:read, node.name)

    def visit_instance_variable_write_node(node)
      seen(:written, node.name)
      super
    end
    alias_method :visit_instance_variable_or_write_node, :visit_instance_variable_write_node
    alias_method :visit_instance_variable_target_node, :visit_instance_variable_write_node

    private

    def body(node)
      name = node.constant_path.slice
      name = [*(@open.last&.name || (@prefix if name == "ZMQ")), name].join("::")
      within(Body.new(name, @path, [], [], [], [], [])) do |body|
        @bodies << body
        node.body&.accept(self)
      end
    end

    def within(body)
      @open.push(body)
      outer, @singleton = @singleton, 0
      yield body
    ensure
      @singleton = outer
      @open.pop
    end

    # What belongs to a class without a name of its own here.
    def other_class(&block) = within(Body.new(nil, @path, [], [], [], [], []), &block)

    def singleton
      @singleton += 1
      yield
    ensure
      @singleton -= 1
    end

    # The methods in the block of Struct.new are those of another class.
    def makes_class?(node)
      node.name == :new && node.block && %w[Class Module Struct].include?(node.receiver&.slice)
    end

    def seen(list, name)
      @open.last[list] << name if @open.any? && @singleton.zero?
    end

    def call(node)
      arguments = node.arguments&.arguments.to_a
      symbols = arguments.grep(Prism::SymbolNode).map { |one| one.unescaped.to_sym }
      defined = @open.last.defined
      case node.name
      when *ATTRIBUTES then defined.concat(symbols, symbols.map { |one| :"#{one}=" })
      when :alias_method, :define_method then defined << (symbols.first || node.name)
      when *MIXING then mix(node, arguments)
      else seen(:called, node.name)
      end
    end

    def mix(node, arguments)
      modules = arguments.select { |one|
        [Prism::ConstantReadNode, Prism::ConstantPathNode].include?(one.class)
      }
      @open.last.mixed.concat(modules.map(&:slice)) if @singleton.zero? || node.name == :include
    end
  end
  private_constant :Finder
end
