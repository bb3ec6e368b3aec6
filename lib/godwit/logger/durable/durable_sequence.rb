# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # A {SequenceCounter} whose numbers continue after a restart. The writer's lock protects it.
    class DurableSequence < SequenceCounter
      MAX_TOPICS = 1_000 # topics whose last number (tseq) a checkpoint stores

      # A key of checkpoints that is no topic. Its value is the number of all records that the
      # folder ever had before the checkpoint.
      ENTRIES = ""

      class << self
        # @return [String] a checkpoint for a {SegmentedLog}
        def record(topics, entries)
          pieces = [[ENTRIES, entries], *topics.first(MAX_TOPICS)]
          pieces.map { |topic, tseq| [tseq, topic.bytesize].pack("Q>n") << topic.b }.join
        end

        # Stores each topic's last number (tseq). {SegmentedLog} yields a checkpoint, then records.
        def remember(known, seq, record)
          return known.replace(read(record)) if seq.zero?
          topic, header = Packing.frames(record)
          start = header && Header.start(header)
          known[topic] = start.tseq if start
        end

        # @return [Integer, nil] nil: an earlier version of Godwit wrote the checkpoint
        def entries(checkpoint) = read(checkpoint)[ENTRIES]

        private

        def read(checkpoint)
          topics = {}
          offset = 0
          while offset + 10 <= checkpoint.bytesize
            tseq, length = checkpoint.unpack("Q>n", offset: offset)
            topics[checkpoint.byteslice(offset + 10, length)] = tseq
            offset += 10 + length
          end
          topics
        end
      end

      def initialize(settings, writer, seq, known)
        @known = known
        super(settings, writer: writer, seq: seq)
      end

      def topics
        now = @streams.each_value.flat_map(&:values).to_h { |stream| [stream.topic, stream.tseq] }
        @known.merge(now)
      end

      private

      # If there are too many topics, this writer keeps its id and forgets their last numbers.
      def begin_as(writer, seq)
        return super unless @writer
        @known = {}
        @streams = {}
        @count = 0
      end

      def new_stream(level, prog)
        stream = super
        tseq = @known.delete(stream.topic) and stream.resume(tseq)
        stream
      end
    end
    private_constant :DurableSequence
  end
end
