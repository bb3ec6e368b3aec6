# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require "godwit/work/cli"
require "godwit/work"
require "open3"
require "rbs"
require "rbs/test"
require_relative "reference"

# sig/ and work/sig/ declare the same public methods, with their keywords, and the same public
# constants as the gems. A method is private in Ruby, or by @private in its comment or that of its
# class.
class SignaturesTest < Godwit::TestCase
  include Godwit::TestSupport::Reference

  deadline 600 # the first test parses the library

  ROOT = File.expand_path("../..", __dir__)
  SIG = %w[sig work/sig].map { |folder| "#{ROOT}/#{folder}" }.freeze

  Dir["#{ROOT}/{lib/godwit,work/lib/godwit/work}/cli/*.rb"].sort.each { |file| require file }

  test "rbs finds no fault in sig" do
    output, status = Open3.capture2e(RbConfig.ruby, "-S", "rbs", "-r", "logger",
      *SIG.flat_map { |path| ["-I", path] }, "validate")
    assert status.success?, output
  end

  test "every public method has a type" do
    untyped = public_modules.flat_map do |mod|
      owners_of(mod).flat_map do |owner, types|
        (public_methods_of(owner) - types.keys).map { |name| "#{owner}##{name}" }
      end
    end
    assert_equal [], untyped
  end

  test "every type is of a method that there is" do
    assert_equal [], each_type.filter_map { |mod, owner, name, _|
      next if name == :initialize
      # RBS lists a `new` in each class whose initialize has a type. Ruby's `new` is Class#new.
      next if name == :new && (owner.instance_method(:new).owner == Class ||
        mod.private_method_defined?(:initialize, false))
      next if public_methods_of(owner).include?(name)
      # module_function makes the method private in the module itself
      next if owner == mod && public_methods_of(mod.singleton_class).include?(name)
      "#{owner}##{name}"
    }
  end

  test "types have the keywords of their methods, and no others" do
    compared = 0
    wrong = each_type.filter_map do |_, owner, name, type|
      next unless owner.method_defined?(name, false) || owner.private_method_defined?(name, false)
      parameters = owner.instance_method(name).parameters
      kinds = parameters.map(&:first)
      next if kinds.include?(:rest) && !kinds.include?(:key) # the method forwards "...", or is in C
      compared += 1
      known = parameters.filter_map { |kind, keyword| keyword if %i[key keyreq].include?(kind) }
      typed = type.method_types.map(&:type)
        .flat_map { |one| one.required_keywords.keys + one.optional_keywords.keys }.uniq
      too_many = kinds.include?(:keyrest) ? [] : typed - known
      if [known - typed, too_many].any?(&:any?)
        "#{owner}##{name}: #{known} in Ruby, #{typed} in sig"
      end
    end
    assert_equal [], wrong
    assert_operator compared, :>, 300
  end

  test "every class and module has a type, with its superclass and its included modules" do
    assert_equal [], public_modules.map(&:name) - declared.map(&:name)
    assert_equal [], declared.map(&:name) - public_modules.map(&:name)
    wrong = declared.reject do |mod|
      typed = builder.ancestor_builder.instance_ancestors(type_name(mod)).ancestors
        .map { |one| Object.const_get(one.name.to_s) }.uniq
      real = mod.ancestors
        .select { |one| declared.include?(one) || !one.name.start_with?("Godwit") }
        .reject { |one| outside?(one) }
      # Compare superclasses in order. The order of modules differs: several files may include them.
      typed.grep(Class) == real.grep(Class) && typed.sort_by(&:name) == real.sort_by(&:name)
    end
    assert_equal [], wrong
  end

  test "every public constant has a type, and each value fits it" do
    check = RBS::Test::TypeCheck.new(self_class: Object, builder: builder, sample_size: nil,
      unchecked_classes: [])
    real =
      public_modules.flat_map { |mod| public_constants_of(mod).map { |name| "#{mod}::#{name}" } }
    typed =
      environment.constant_decls.keys.map { |name| name.to_s.delete_prefix("::") }.grep(/\AGodwit/)
    assert_equal real.sort, typed.sort
    environment.constant_decls.each do |name, entry|
      next unless name.to_s.start_with?("::Godwit")
      assert check.value(Object.const_get(name.to_s), entry.decl.type), name.to_s
    end
  end

  private

  # All tests share the environment: to read RBS's own types takes seconds.
  def environment = @@environment ||= RBS::Environment.from_loader(loader).resolve_type_names

  def loader
    RBS::EnvironmentLoader.new.tap do |loader|
      loader.add(library: "logger", version: nil)
      SIG.each { |path| loader.add(path: Pathname(path)) }
    end
  end

  def builder = @@builder ||= RBS::DefinitionBuilder.new(env: environment)

  def type_name(mod) = RBS::TypeName.parse("::#{mod.name}")

  def instance_types(mod) = own(builder.build_instance(type_name(mod)), mod)

  def singleton_types(mod) = own(builder.build_singleton(type_name(mod)), mod)

  def own(definition, mod)
    definition.methods.select do |_, method|
      method.implemented_in == type_name(mod) && method.accessibility == :public
    end
  end

  def declared
    @declared ||= environment.class_decls.keys.map(&:to_s).grep(/\A::Godwit/)
      .map { |name| Object.const_get(name) }
  end

  def each_type
    declared.flat_map do |mod|
      owners_of(mod).flat_map { |owner, types| types.map { |name, type| [mod, owner, name, type] } }
    end
  end

  def owners_of(mod)
    {mod => instance_types(mod), mod.singleton_class => singleton_types(mod)}
  end

  def public_modules = @public_modules ||= [Godwit, *inner(Godwit)]

  def inner(mod)
    public_names(mod).map { |name| mod.const_get(name) }.grep(Module)
      .flat_map { |one| [one, *inner(one)] }
  end

  def public_constants_of(mod)
    public_names(mod).reject { |name| mod.const_get(name).is_a?(Module) }
  end

  # Names that YARD does not know belong to the tests, or are made at run time.
  def public_names(mod)
    mod.constants(false)
      .select { |name| (object = documented("#{mod}::#{name}")) && !hidden?(object) }
  end

  def public_methods_of(owner)
    path = owner.singleton_class? ? "#{owner.inspect[/<Class:(.*)>/, 1]}." : "#{owner}#"
    names = owner.public_instance_methods(false)
    # A struct that Godwit returns is frozen, so its writers are not public API.
    names.reject! { |name| name.end_with?("=") } if owner < Struct
    if owner.singleton_class? && owner < Struct.singleton_class
      names.select! { |name| owner.instance_method(name).source_location }
    end
    names.reject { |name| hidden?(documented("#{path}#{name}")) }
  end

  def outside?(mod)
    %w[Minitest JSON PP RBS DidYouMean ErrorHighlight Kernel].any? do |name|
      mod.name.start_with?(name) && mod != Kernel
    end
  end
end
