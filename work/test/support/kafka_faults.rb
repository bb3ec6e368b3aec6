# frozen_string_literal: true

# Makes calls of the engine's methods fail.
module KafkaFaults
  KAFKA = Godwit::Work.const_get(:Kafka)
  ARMED = {} # [class, method] => what each call of the method runs first
  PREPARED = {} # [class, method] => the class whose method runs the block in ARMED

  class << self
    # @yieldparam object [Object] whose method is called; the call fails if the block raises
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

    # Makes the next call of the method fail.
    # @param code [Integer] librdkafka's
    # @yieldparam object [Object] whose method is called
    # @yieldreturn [Boolean] whether this call may fail
    # @return [Thread::Queue] gets an object when it has failed
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
