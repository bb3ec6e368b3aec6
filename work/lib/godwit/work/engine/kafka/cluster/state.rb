# frozen_string_literal: true

require "json"

module Godwit
  module Work
    module Kafka
      # Facts that Kafka has no field for: formats and partitioners of topics, the pauses and seeks
      # of operators, reports of stuck handlers. Each fact is a record of a compacted topic. The
      # record's key has the fact's kind and names.
      #
      # **Threads**: any.
      # @private
      class State
        TOPIC = "_godwit.state"
        VERSION = 1 # version of the values; readers ignore values of other versions
        READ = 1 << 20 # approximate bytes of one fetch
        WAIT = 500 # milliseconds that a broker waits for facts
        PROPERTIES = {"cleanup.policy" => "compact"}.freeze
        AGAIN = 0.02 # seconds between two attempts to write
        PATIENCE = 5 # seconds without a record before a new handle reads

        # @yieldparam block [String] the bytes of a {Block} that the Ruby block writes
        # @yieldparam count [Integer] its records
        def initialize(settings, cluster, &write)
          @settings = settings
          @cluster = cluster
          @write = write
          @facts = {}
          @found = nil # the facts found so far while the topic is read again
          @position = 0
          @lock = Mutex.new
        end

        # Reads all facts that were written before the call.
        # @param there [Boolean] whether the topic exists
        def refresh(there)
          return self unless there
          finish = @cluster.ends(TOPIC, 1).first
          @lock.synchronize do
            forget if finish < @position
            read_to(finish)
          end
          self
        end

        # Reads the facts that have come, without waiting.
        def poll
          @lock.synchronize { nil while @fetch && drain > 0 }
        end

        # @param kind [String] such as "topic"
        # @return [Hash{String => Object}, nil]
        def [](kind, *names) = @facts[[kind, *names]]

        # Writes a fact, and waits until the brokers have acknowledged it.
        # @param value [Hash{String => Object}, nil] nil deletes it
        def write(kind, *names, value) = write_all({[kind, *names] => value})

        # Writes several facts at once.
        # @param facts [Hash{Array => Hash, nil}] [kind, *names] => value
        def write_all(facts)
          return if facts.empty?
          create if @facts.empty?
          texts = facts.values.map { |one| one && JSON.generate({"version" => VERSION, **one}) }
          write_block(Block.encode(texts, facts.keys.map { |key| JSON.generate(key) }), facts.size)
          @lock.synchronize { @facts = with(@facts, facts) }
        end

        def close
          @lock.synchronize { stop }
        end

        private

        def create = @cluster.create(TOPIC, 1, -1, PROPERTIES)

        # Writes a block. If the topic was deleted, this method creates it: librdkafka knows the new
        # topic a little later.
        def write_block(block, count)
          start = Timeout.now
          begin
            @write.call(block, count)
          rescue TopicError, BrokerError => error
            gone = error.is_a?(TopicError) || error.name == "_DESTROY"
            raise if !gone || Timeout.remaining(@settings.timeout, start).zero?
            create
            sleep AGAIN
            retry
          end
        end

        # Forgets all facts, since the topic was deleted and created again.
        def forget
          begin_again
          @facts = {}
        end

        # Closes the handle, so that a new one reads the topic: after the topic was made again, the
        # old handle may wait for ever.
        def begin_again
          stop
          @position = 0
          @found = {}
        end

        def stop
          @fetch&.stop
          @handle&.close
          @fetch = @handle = nil
        end

        def read_to(finish)
          start = progress = Timeout.now
          while @position < finish
            begin_reading
            next progress = Timeout.now if drain > 0
            if (remaining = Timeout.remaining(@settings.timeout, start)).zero?
              raise Errors.of(Errors::TIMED_OUT, :read, @handle.cause, resource: TOPIC)
            end
            if Timeout.remaining(PATIENCE, progress) > 0
              next @fetch.wait([remaining, Handle::SLICE].min)
            end
            begin_again
            progress = Timeout.now
          end
          @facts, @found = @found, nil if @found
        end

        def begin_reading
          @handle ||= Handle.new(Handle::CONSUMER, @settings.reader(fetch_wait: WAIT))
          @fetch ||= Fetch.new(@handle, TOPIC, 0, @position)
        end

        # @return [Integer] number of blocks
        def drain
          @fetch.drain(READ).count { |one| add(one) }
        end

        # @param one [Block, Failure]
        def add(one)
          return add_block(one) || true if one.is_a?(Block)
          return false if one.end?
          @fetch.stop
          @fetch = nil
          raise one.to_error(:read)
        end

        def add_block(block)
          keys = block.keys
          changes = {}
          block.count.times do |index|
            key = JSON.parse(keys[index].to_s)
            value = block.values[index]&.then { |text| JSON.parse(text) }
            changes[key] = value if value.nil? || value["version"] == VERSION
          rescue JSON::ParserError
            nil # another program wrote the record
          end
          @found ? @found = with(@found, changes) : @facts = with(@facts, changes)
          @position = block.finish
        end

        def with(facts, changes) = facts.merge(changes).compact
      end
    end
  end
end
