# frozen_string_literal: true

# Makes calls of the engine's methods fail.
module KafkaFaults
  KAFKA = Godwit::Work.const_get(:Kafka)
  ARMED = {} # [class, method] => the block that each call of the method runs first
  PREPARED = {} # [class, method] => the class, if its method already runs the block in ARMED

  class << self
    # Runs the block before each call of the method. If the block raises, the call fails.
    # @yieldparam object [Object] the receiver of the call
    # @raise [NameError] the class has no such method
    def before(klass, name, &act)
      klass.instance_method(name)
      ARMED[[klass, name]] = act
      PREPARED[[klass, name]] ||= klass.prepend(Module.new do
        define_method(name) do |*arguments, **options, &block|
          ARMED[[klass, name]]&.call(self)
          super(*arguments, **options, &block)
        end
      end)
    end

    # Makes one call of the method fail: the next call, or the next for which the block is true.
    # @param code [Integer] librdkafka's code of the error
    # @yieldparam object [Object] the receiver of the call
    # @yieldreturn [Boolean] whether this call must fail
    # @return [Thread::Queue] gets an object when the call fails
    def once(klass, name, code, &may)
      Thread::Queue.new.tap do |failed|
        before(klass, name) do |object|
          next unless may.nil? || may.call(object)
          ARMED.delete([klass, name])
          failed << true
          raise KAFKA::Errors.of(code, name)
        end
      end
    end

    def clear = ARMED.clear
  end
end
