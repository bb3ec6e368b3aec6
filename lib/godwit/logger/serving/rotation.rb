# frozen_string_literal: true

module Godwit
  class Logger < ::Logger
    # Renames, deletes and compresses the old files of a {Sink}. Names are those of Ruby's Logger:
    # app.log.20261120 for a day, app.log.0 (the newest), app.log.1… by size.
    class Rotation
      PERIODS = %i[daily weekly monthly].freeze
      DATED = /\.(\d{8})(?:\.(\d{1,7}))?(?:\.gz)?\z/
      NUMBERED = /\.(\d{1,7})(?:\.gz)?\z/
      CHUNK = 1 << 18

      # @param period [Symbol, nil] nil: rotate by size
      def initialize(path, period, keep, gzip, warnings)
        @path = path
        @period = period
        @keep = keep
        @names = Mutex.new # locked while files are renamed
        @warnings = warnings
        @jobs = Thread::Queue.new if gzip
        clear_up
      end

      def due(base) = @period && ::Logger::Period.next_rotate_time(base, @period.to_s)

      # Renames the file in use.
      def rotate(now)
        @names.synchronize do
          name = @period ? dated_name(now) : shift_numbers
          File.rename(@path, name)
          compress(name) if @jobs
          drop_surplus
        end
      end

      def files
        pattern = @period ? DATED : NUMBERED
        start = File.basename(@path).size
        found = siblings.to_h { |name| [name, File.basename(name)[start..].match(pattern)] }.compact
        return found.keys.sort_by { |name| found[name][1].to_i } unless @period
        found.keys.sort_by { |name| [found[name][1], found[name][2].to_i] }.reverse
      end

      # Waits up to a second for the compression. The next {Sink} compresses the remaining files.
      def close
        return unless @worker
        @jobs.close
        return if @worker.join(1)
        @stopping = true
        @worker.join
      end

      private

      def siblings
        folder, base = File.split(@path)
        names = Dir.children(folder).select { |name| name.start_with?("#{base}.") }
        names.map { |name| File.join(folder, name) }
      end

      def dated_name(now)
        day = ::Logger::Period.previous_period_end(now, @period.to_s).strftime("%Y%m%d")
        name = "#{@path}.#{day}"
        return name unless used?(name)
        (1..).lazy.map { |number| "#{name}.#{number}" }.find { |one| !used?(one) }
      end

      def used?(name) = File.exist?(name) || File.exist?("#{name}.gz")

      # app.log.0 becomes app.log.1, and so on up to the first number that is free.
      def shift_numbers
        free = (0..).find { |number| !used?("#{@path}.#{number}") }
        (free - 1).downto(0) do |old|
          ["", ".gz"].each do |ending|
            name = "#{@path}.#{old}#{ending}"
            File.rename(name, "#{@path}.#{old + 1}#{ending}") if File.exist?(name)
          end
        end
        "#{@path}.0"
      end

      def drop_surplus
        return unless @keep
        files.drop(@keep).each { |name| File.unlink(name) }
      rescue SystemCallError => error
        @warnings.call("#{error.message} (#{error.class})")
      end

      # Finishes the compression of an earlier process.
      def clear_up
        siblings.each { |name| File.unlink(name) if name.end_with?(".gz.part") }
        return unless @jobs
        files.each { |name| compress(name) unless name.end_with?(".gz") }
      rescue Errno::ENOENT
        nil # the folder does not exist: the sink raises the error when it opens its file
      end

      # Opens the file at once, since a later rotation renames it.
      def compress(name)
        @jobs << [File.open(name, "rb"), File.stat(name).ino]
        @worker ||= Worker.new { work }.tap { |worker| worker.name = "godwit log gzip" }
      end

      def work
        while (file, inode = @jobs.pop)
          begin
            pack(file, inode) unless @stopping
          rescue SystemCallError, IOError, Zlib::Error => error
            @warnings.call("#{error.message} (#{error.class})")
          ensure
            file.close
          end
        end
      end

      # Finds the file's new name by its inode: JRuby's File.identical? compares the old name.
      def pack(file, inode)
        unfinished = "#{file.path}.#{Process.pid}.gz.part"
        Zlib::GzipWriter.open(unfinished) do |out|
          out.mtime = file.mtime
          while !@stopping && (chunk = file.read(CHUNK))
            out.write(chunk)
          end
        end
        @names.synchronize do
          name = siblings.find { |one| Files.inode(one) == inode } unless @stopping
          next unless name # nil: the file has been deleted
          File.rename(unfinished, "#{name}.gz")
          File.unlink(name)
        end
      ensure
        File.unlink(unfinished) if unfinished && File.exist?(unfinished)
      end
    end
    private_constant :Rotation
  end
end
