# frozen_string_literal: true

require "rbs"
require "rbs/test"
require "godwit/cli"
require "godwit/work"
require "godwit/work/cli"

module Godwit
  module TestSupport
    # With GODWIT_TEST_TYPES=1, RBS checks each call of a method that sig/ or work/sig/ declares:
    # its arguments, its result, and the arguments and result of a block. The run stores mismatches,
    # does not disturb the calls, and fails at its end. GODWIT_TEST_SIG names another folder than
    # sig/.
    #
    # The check ignores these:
    #
    # * The arguments of a call that raises: the misuse tests want that error. A call that succeeds
    #   with an argument that sig/ forbids is a fault, of sig/ or of the method.
    # * Timeout::UNSET, the default of an argument that one public method passes to another.
    # * The result of a block, since a test may give a wrong one: `serve` refuses it without
    #   raising.
    # * The block that `new` passes on to `initialize` by Ruby's `super`: initialize ignores it.
    # * The elements of an Enumerator: iterating it would receive the test's messages.
    module Types
      ROOT = File.expand_path("../..", __dir__)
      SIG = [ENV.fetch("GODWIT_TEST_SIG", "#{ROOT}/sig"), "#{ROOT}/work/sig"].freeze

      OWN = %r{\A#{Regexp.escape(ROOT)}/test/(?!support/)}
      WRAPPER = /__with(out)?__RBS_TEST/

      # RBS's check of a value against a type, with the exceptions above.
      class Check < RBS::Test::TypeCheck
        def initialize(...)
          super
          @classes = {}
          @aliases = {}
        end

        def value(value, type)
          return true if Timeout::UNSET.equal?(value)
          # Without these two caches RBS looks types up for each value, which takes most time.
          if type.is_a?(RBS::Types::Alias)
            type = @aliases[type] ||= builder.expand_alias2(type.name.absolute!, type.args)
            return super
          end
          if type.is_a?(RBS::Types::ClassInstance) && type.name.to_s == "::Enumerator"
            return value.is_a?(::Enumerator)
          end
          super
        end

        def get_class(name) = @classes[name] ||= super

        def method_call(_name, _type, call, errors:, **)
          return errors if call.method_call.exception?
          super.reject { |error| exempt?(error) }
        end

        private

        def exempt?(error)
          return true if error.is_a?(RBS::Test::Errors::BlockReturnTypeError)
          error.is_a?(RBS::Test::Errors::UnexpectedBlockError) && error.method_name == :initialize
        end
      end

      # Replaces RBS's reporter, which raises. An error would change the test's behaviour, and would
      # be lost in a thread.
      class Judge
        def initialize(methods, check)
          @methods = methods
          @check = check
        end

        def call(receiver, trace)
          method = Types.retyped[[receiver, trace.method_name]] || @methods.fetch(trace.method_name)
          Types.called[method] = true
          @check
            .overloaded_call(method, trace.method_name, trace, errors: [])
            .each { |error| Types.note(error, trace) }
        end
      end

      @wrong = []
      @called = {}.compare_by_identity
      # Types of a `new` that is inherited; its arguments are those of the class's own initialize.
      @retyped = {}
      @watched = {}.compare_by_identity
      class << self
        # @return [Array<String>] the mismatches, each once
        attr_reader :wrong
        # @private
        attr_reader :called, :retyped

        # Wraps each method that both sig/ and the library have. test/types/signatures_test.rb
        # checks that they have the same methods.
        def start
          # The library loads these files only on demand.
          Dir["#{ROOT}/{lib/godwit,work/lib/godwit/work}/cli/*.rb"].sort
            .each { |file| require file }
          RBS.logger_level = "fatal" # RBS would warn of each overload that does not match
          loader = RBS::EnvironmentLoader.new
          loader.add(library: "logger", version: nil)
          SIG.each { |path| loader.add(path: Pathname(path)) }
          builder =
            RBS::DefinitionBuilder.new(env: RBS::Environment.from_loader(loader).resolve_type_names)
          builder.env.class_decls.each_key do |name|
            next unless name.to_s.start_with?("::Godwit") && Object.const_defined?(name.to_s)
            mod = Object.const_get(name.to_s)
            watch(mod, name, builder.build_instance(name), builder)
            watch(mod.singleton_class, name, builder.build_singleton(name), builder, instance: mod)
          end
        end

        def note(error, trace)
          place = caller_locations.find { |location| OWN.match?(location.path) }
          arguments =
            trace.method_call.arguments.map { |argument| Errors.shown(argument) }.join(", ")
          result = Errors.shown(trace.method_call.return_value) if trace.method_call.return?
          text = "#{RBS::Test::Errors.to_string(error)}; called with (#{arguments})"
          text += ", gave #{result}" if result
          text += " at #{place.path.delete_prefix("#{ROOT}/")}:#{place.lineno}" if place
          @wrong << text unless @wrong.include?(text)
        end

        # @return [String]
        def summary
          never = @watched.reject { |method, _| @called[method] }.values.sort
          "#{@called.size} of #{@watched.size} typed methods were " \
          "called#{"; never: #{never.join(", ")}" if never.any?}"
        end

        private

        def watch(mod, name, definition, builder, instance: Object)
          methods =
            definition.methods.select do |method, type|
              type.implemented_in == name && watched?(mod, method)
            end
          @retyped[[instance, :new]] = definition.methods[:new] if mod.singleton_class? &&
            definition.methods[:new]&.implemented_in == name
          return if methods.empty?
          check =
            Check.new(
              self_class: mod, builder: builder, sample_size: nil, unchecked_classes: [],
              instance_class: instance
            )
          key = mod.inspect
          RBS::Test::Observer.register(key, Judge.new(methods, check))
          methods.each do |method, type|
            @watched[type] = "#{mod}##{method}"
            RBS::Test::Hook.hook_instance_method(mod, method, key: key)
            # The extension defines some of Socket's methods in a module that Ruby searches before
            # the wrapped module, so the calls would bypass the check.
            taken =
              Socket.ancestors.drop(1).include?(mod) &&
              TAKEOVER.public_method_defined?(method, false)
            RBS::Test::Hook.hook_instance_method(TAKEOVER, method, key: key) if taken
          end
          # A test lists the public methods, so the wrappers must not add any.
          [mod, TAKEOVER].each do |one|
            one.__send__(:private, *one.public_instance_methods(false).grep(WRAPPER))
          end
        end

        def watched?(mod, method)
          mod.public_method_defined?(method, false) ||
            (method == :initialize && mod.private_method_defined?(method, false))
        end
      end

      TAKEOVER = Backend::TAKEOVER
      start
    end
  end
end
