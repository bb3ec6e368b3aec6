# frozen_string_literal: true

# A consumer process loads this file. SETTINGS["steps"] is a list of pairs: a step of a transaction
# with outputs, and an act such as "kill". The process does one act after the other.
module KafkaSteps
  STEPS = SETTINGS.fetch("steps")
  EVERY = 3 # a process acts when it reaches the step for the third time
  FUNCTIONS = Godwit::Work.const_get(:Kafka)::Functions.tap(&:load)
  FUNCTIONS.attach_function(:test_fatal_error, "rd_kafka_test_fatal_error",
    %i[pointer int string], :int)
  SEEN = [0]

  class << self
    # Called when the process has reached a step. At the third call for a step the process acts.
    # @param name [String] of the step
    # @param producer [Godwit::Work::Kafka::Producer] of the transaction
    def here(name, producer)
      return unless STEPS.any? && STEPS[0][0] == name && (SEEN[0] += 1) == EVERY
      SEEN[0] = 0
      step = {at: name, what: STEPS.shift[1]}
      event(:step, step)
      act(step[:what], producer.handle.pointer)
      event(:acted, step) # a killed process does not reach this line
    end

    private

    def act(what, pointer)
      case what
      when "kill" then Process.kill(:KILL, Process.pid).then { sleep }
      when "fatal" then FUNCTIONS.test_fatal_error(pointer, -144, "a test's") # the code _FENCED
      when "late" then sleep 4 # seconds: the transaction times out
      when "stop" then Process.kill(:STOP, Process.pid).then { sleep 0.01 until out? }
      end
    end

    # @return [Boolean] whether librdkafka reports that the group has excluded this process
    def out?
      engine = Godwit::Work.client.engine
      handles = engine.instance_variable_get(:@memberships).each_value.map do |one|
        one.instance_variable_get(:@handle).pointer
      end
      handles.all? { |one| FUNCTIONS.assignment_lost(one) == 1 }
    end
  end

  private

  def begin_transaction(one)
    super.tap { KafkaSteps.here("begin", one) }
  end

  def append(one, batches)
    super.tap { KafkaSteps.here("produce", one) }
  end

  def step(one, name, ...)
    KafkaSteps.here("before commit", one) if name == :commit_transaction
    super.tap do
      KafkaSteps.here("offsets", one) if name == :send_offsets_to_transaction
      KafkaSteps.here("commit", one) if name == :commit_transaction
    end
  end
  Godwit::Work.const_get(:Kafka)::Outputs.prepend(self)
end
