# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    class SegmentedLog
      # What {SegmentedLog} finds in its folder at the start, and how far it is known to be
      # released.
      # @private
      module Recovery
        RELEASED = "released"

        private

        def recover(block)
          @segments = Dir.children(@folder).grep(SegmentedLog::FILE).sort.map do |name|
            SegmentedLog::Segment.new(name.to_i(16), File.join(@folder, name), 0, 0, 0)
          end
          # The last may be torn, and without its first entry; all before it were once the last, and
          # cut then.
          full = [@segments.size - 1, 0].max
          full -= 1 while full.positive? && !note_of(@segments[full])
          @segments.each_with_index do |segment, index|
            unless index < full && measure(segment, @segments[index + 1])
              scan(segment, (block if index >= full))
            end
          end
          drop(@segments.pop) while @segments.last&.size&.zero? # begun, and not come to its note
          spent, @segments =
            @segments.partition do |segment|
              segment.last <= @released && !segment.equal?(@segments.last)
            end
          @total = @segments.sum(&:size)
          spent.each { |segment| drop(segment) } if @segments.any? && note_of(@segments.last)
        end

        # @return [Array(Integer, String), nil] the last seq before the file, and the note
        def note_of(segment)
          head = File.binread(segment.path, SegmentedLog::HEAD_BYTES) or return
          if head.bytesize < SegmentedLog::HEAD_BYTES || head.unpack1("N") > SegmentedLog::LONGEST
            return
          end
          bytes = File.binread(segment.path, SegmentedLog::HEAD_BYTES + head.unpack1("N"))
          seq, finish = SegmentedLog.whole_entry(bytes, 0)
          if seq&.zero? && finish >= SegmentedLog::HEAD_BYTES + 8
            [
              bytes.unpack1("Q>", offset: SegmentedLog::HEAD_BYTES),
              bytes.byteslice(SegmentedLog::HEAD_BYTES + 8...finish)
            ]
          end
        end

        # @return [Boolean] whether the notes tell all that is to be known of the file
        def measure(segment, following)
          segment.prev, = note_of(segment)
          segment.last, = note_of(following)
          segment.size = File.size(segment.path)
          !segment.prev.nil? && !segment.last.nil?
        end

        # An entry that is not whole ends its file: what follows in it cannot be told apart.
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
          @released_file ||=
            File.open(File.join(@folder, RELEASED), File::RDWR | File::CREAT | File::BINARY, 0o600)
          seq = [@released].pack("Q>")
          @released_file.pwrite(seq << [Zlib.crc32(seq)].pack("N"), 0)
        rescue SystemCallError
          nil # it saves sending twice, nothing else
        end
      end
      private_constant :Recovery
    end
  end
end
