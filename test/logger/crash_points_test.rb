# frozen_string_literal: true

require "test_helper"

# A receiver and a writer are killed at each of their steps in turn (in the gate at every third):
# before and after each call that changes a file or sends a message. Then a successor takes over,
# and the file holds each accepted record once.
class LoggerCrashPointsTest < Godwit::TestCase
  PRELUDE = <<~'RUBY'
    require "godwit"
    require "./test/logger/crash_points"
    Godwit::Logger::Receiver.name # loads all files before the steps count
    FOLDER = ARGV.fetch(0)
    STEP = ARGV.fetch(1).to_i

    def mark(folder) = File.open("#{folder}/mark", File::RDWR | File::CREAT | File::BINARY)

    def taken(folder)
      File.binread("#{folder}/mark").unpack1("Q>") || 0
    rescue Errno::ENOENT
      0
    end

    def receive(folder)
      Godwit::Logger::Receiver.new(
        "ipc://#{folder}/in", Godwit::Logger::Sink.new("#{folder}/app.log", rotate: 700)
      )
    end

    def log_to(folder)
      Godwit::Logger.new(
        "ipc://#{folder}/in", durable: "#{folder}/durable", reconnect_interval: 0.01, linger: 10
      )
    end

    def child
      fork do
        $stderr.reopen(File::NULL)
        yield
      ensure
        exit!
      end
    end

    def kill(pid)
      Process.kill(:KILL, pid)
      Process.waitpid(pid)
    end

    # @return [Array<Integer>] numbers of the lines of one kind, in the current and the rotated
    #   files; `others` names the other allowed kinds
    def in_file(folder, kind, others)
      old = Dir["#{folder}/app.log.*"].grep(/\d\z/).sort_by { |name| -name[/\d+\z/].to_i }
      lines = [*old, "#{folder}/app.log"].flat_map { |name| File.readlines(name, chomp: true) }
      lines.filter_map do |line|
        match = line.match(/(?:\A| )(\w+) (\d+)\z/)
        unless match && [kind, *others].include?(match[1])
          abort("#{folder}: a line #{line.inspect}")
        end
        match[2].to_i if match[1] == kind
      end
    end

    def check(folder, kind, others, range)
      numbers = in_file(folder, kind, others)
      unless numbers == (1..numbers.size).to_a && range.cover?(numbers.size)
        abort("#{folder}: #{kind} #{numbers}, not 1 to #{range}")
      end
    end
  RUBY

  RECEIVER = PRELUDE + <<~'RUBY'
    (1..).step(STEP) do |point|
      folder = "#{FOLDER}/#{point}"
      Dir.mkdir(folder)
      first = child do
        note = mark(folder)
        CrashPoints.arm(point)
        receiver = receive(folder)
        3.times do |index|
          receiver.sink.write([Godwit::Logger::Record.parse("plain #{index + 1}")])
          note.pwrite([index + 1].pack("Q>"), 0)
          # The wait puts the plain lines between the records.
          sleep(0.001) until receiver.stats.written >= 10 * (index + 1)
        end
        sleep
      end
      log = log_to(folder)
      30.times do |index|
        log.info("record #{index + 1}")
        log.flush(timeout: 0.05) if (index % 10) == 9
      end
      survived = false
      until Process.waitpid(first, Process::WNOHANG)
        next unless log.flush(timeout: 0.02) && taken(folder) == 3
        kill(first)
        break survived = true
      end
      second = child { receive(folder) && sleep }
      abort("#{folder}: #{log.stats.inspect}") unless log.flush(timeout: 10)
      log.close
      kill(second)
      check(folder, "record", ["plain"], 30..30)
      check(folder, "plain", ["record"], taken(folder)..taken(folder) + 1)
      break puts(point) if survived
    end
  RUBY

  WRITER = PRELUDE + <<~'RUBY'
    # The files are small, so that the writer creates and deletes several.
    Godwit::Logger.const_get(:SegmentedLog).prepend(
      Module.new do
        def initialize(folder, **options, &block) =
          super(folder, segment_bytes: 1500, **options, &block)
      end
    )
    (1..).step(STEP) do |point|
      folder = "#{FOLDER}/#{point}"
      Dir.mkdir(folder)
      receiver = receive(folder)
      first = child do
        note = mark(folder)
        CrashPoints.arm(point)
        log = log_to(folder)
        12.times do |index|
          log.info("first #{index + 1}")
          note.pwrite([index + 1].pack("Q>"), 0)
          log.flush(timeout: 10) if (index % 5) == 4
        end
        log.close
        exit!(7)
      end
      Process.waitpid(first)
      survived = $?.exitstatus == 7
      log = log_to(folder)
      8.times { |index| log.info("second #{index + 1}") }
      abort("#{folder}: #{log.stats.inspect}") unless log.flush(timeout: 10)
      log.close
      receiver.close
      receiver.sink.close
      check(folder, "first", ["second"], taken(folder)..taken(folder) + 1)
      check(folder, "second", ["first"], 8..8)
      break puts(point) if survived
    end
  RUBY

  {"receiver" => RECEIVER, "writer" => WRITER}.each do |who, program|
    test "a #{who} that is killed at any of its steps" do
      not_on :jruby, "it cannot fork"
      result =
        assert_child(run_child(program, [scratch_dir, Godwit::TestSupport::Length.of(3, long: 1)]))
      assert_operator result.stdout.to_i, :>, 40, "steps"
    end
  end
end
