# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class SegmentedLog
      # Reads what an earlier process left in the folder, and keeps the released seq in a file.
      module Recovery
        RELEASED = "released"

        private

        def recover(block)
          @segments = Dir.children(@folder).grep(FILE).sort.map do |name|
            Segment.new(name.to_i(16), File.join(@folder, name), 0, 0, 0)
          end
          # Only the last file may be torn, even in its checkpoint. Then the file before it has one.
          full = [@segments.size - 1, 0].max
          full -= 1 while full.positive? && !checkpoint_of(@segments[full])
          @segments.each_with_index do |segment, index|
            next if index < full && measure(segment, @segments[index + 1])
            scan(segment, (block if index >= full))
          end
          drop(@segments.pop) while @segments.last&.size&.zero? # its checkpoint is torn
          @total = @segments.sum(&:size)
          drop_released if @segments.any? && checkpoint_of(@segments.last)
        end

        def checkpoint_of(segment)
          head = File.binread(segment.path, HEAD_BYTES).to_s
          return if head.bytesize < HEAD_BYTES || head.unpack1("N") > LONGEST
          bytes = File.binread(segment.path, HEAD_BYTES + head.unpack1("N"))
          seq, finish = SegmentedLog.whole_entry(bytes, 0)
          return unless seq&.zero? && finish >= HEAD_BYTES + 8
          [bytes.unpack1("Q>", offset: HEAD_BYTES), bytes.byteslice(HEAD_BYTES + 8...finish)]
        end

        # @return [Boolean] whether the checkpoints suffice, without reading the file
        def measure(segment, following)
          segment.prev, = checkpoint_of(segment)
          segment.last, = checkpoint_of(following)
          segment.size = File.size(segment.path)
          !segment.prev.nil? && !segment.last.nil?
        end

        # Truncates the file at the first entry that is not whole.
        def scan(segment, block)
          bytes = File.binread(segment.path)
          segment.prev = segment.last = 0
          segment.size = SegmentedLog.each_entry(bytes) do |seq, record|
            if seq.zero?
              segment.prev = segment.last = record.unpack1("Q>")
              record = record.byteslice(8..)
            else
              segment.last = seq
            end
            block&.call(seq, record)
          end
          return if segment.size == bytes.bytesize
          @cut += bytes.bytesize - segment.size
          File.truncate(segment.path, segment.size)
        end

        def read_released
          seq, crc = File.binread(File.join(@folder, RELEASED)).unpack("Q>N")
          (seq && crc && Zlib.crc32([seq].pack("Q>")) == crc) ? seq : 0
        rescue Errno::ENOENT
          0
        end

        def write_released
          flags = File::RDWR | File::CREAT | File::BINARY
          @released_file ||= File.open(File.join(@folder, RELEASED), flags, 0o600)
          seq = [@released].pack("Q>")
          @released_file.pwrite(seq << [Zlib.crc32(seq)].pack("N"), 0)
        rescue SystemCallError
          nil # without it the writer sends some records twice
        end
      end
      private_constant :Recovery
    end
  end
end
