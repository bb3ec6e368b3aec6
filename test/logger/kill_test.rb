# frozen_string_literal: true

require "test_helper"

# kill -9 of durable writers and of their receiver, at random moments, with rotation and with other
# records in the same file: the file holds each record once, in order per writer.
# GODWIT_LOGGER_KILL_SECONDS sets a longer run (rake logger:kills).
class LoggerKillTest < Godwit::TestCase
  SECONDS =
    Float(
      ENV.fetch("GODWIT_LOGGER_KILL_SECONDS") { Godwit::TestSupport::Length.of("1.5", long: "3") }
    )
  SEED =
    Integer(
      ENV.fetch("GODWIT_LOGGER_KILL_SEED") do
        Godwit::TestSupport::Length.of(4711, long: rand(1 << 16))
      end
    )
  CHILD_DEADLINE = SECONDS + 30
  deadline SECONDS + 60

  # Notes each number once its record was taken; a page of the kernel's, so that a kill loses
  # nothing of it.
  MARK = <<~RUBY
    require "godwit"
    mark = File.open(ARGV.fetch(0), File::RDWR | File::CREAT | File::BINARY)
    note = ->(number) { mark.pwrite([number].pack("Q>"), 0) }
  RUBY

  WRITER = <<~RUBY
    #{MARK}
    log = Godwit::Logger.new(ARGV.fetch(1), durable: ARGV.fetch(2), progname: "billing", linger: 20)
    Thread.new { $stdin.read; Thread.main.raise(Interrupt) }
    number = 0
    begin
      Thread.handle_interrupt(Interrupt => :never) do
        loop do
          number += 1
          log.info(ARGV.fetch(3) + " " + number.to_s)
          note.call(number)
          Thread.handle_interrupt(Interrupt => :immediate) { Thread.pass }
          Thread.handle_interrupt(Interrupt => :immediate) { sleep(0.001) } if (number % 50).zero?
        end
      end
    rescue Interrupt
      puts(log.flush(timeout: 20) ? "flushed" : "not flushed: " + log.stats.inspect)
      log.close
    end
  RUBY

  RECEIVER = <<~RUBY
    #{MARK}
    sink = Godwit::Logger::Sink.new(ARGV.fetch(1), rotate: 40_000)
    receiver = Godwit::Logger::Receiver.new(ARGV.fetch(2), sink)
    stopping = false
    Thread.new { $stdin.read; stopping = true }
    number = 0
    until stopping
      number += 1
      receiver.sink.write([Godwit::Logger::Record.parse(ARGV.fetch(3) + " " + number.to_s)])
      note.call(number)
      sleep(0.002)
    end
    receiver.close
    receiver.sink.close
    puts "closed"
  RUBY

  # A child that is started anew after each kill, under a new name.
  class Victim
    attr_reader :made, :child

    def initialize(name, &start)
      @name = name
      @start = start
      @life = 0
      @made = {} # name and life to the number of records that it reported as taken
    end

    def mark = "#{@name}#{@life}"

    def revive
      @life += 1
      @child = @start.call(mark)
    end

    def taken(folder)
      File.binread(File.join(folder, mark)).unpack1("Q>") || 0
    rescue Errno::ENOENT
      0
    end

    def over(folder) = @made[mark] = taken(folder)
  end

  def file = File.join(scratch_dir, "app.log")

  def endpoint = @endpoint ||= endpoint_for(:ipc_file)

  def writer(name)
    folder = File.join(scratch_dir, "durable #{name}")
    Victim.new(name) do |mark|
      start_child(
        WRITER, [File.join(scratch_dir, mark), endpoint, folder, mark], deadline: CHILD_DEADLINE
      )
    end
  end

  def receiver(name)
    Victim.new(name) do |mark|
      start_child(
        RECEIVER, [File.join(scratch_dir, mark), file, endpoint, mark], deadline: CHILD_DEADLINE
      )
    end
  end

  def kill(victim, random)
    goal = victim.taken(scratch_dir) + random.rand(100)
    eventually("#{victim.mark} came to nothing: #{victim.child.stderr}") do
      victim.taken(scratch_dir) >= goal
    end
    victim.child.signal(:KILL)
    result = victim.child.finish
    assert_equal 9, result.status.termsig, result.to_s
    assert_equal "", result.stderr
    victim.over(scratch_dir)
  end

  def in_file
    old =
      Dir["#{file}.*"]
        .select { |name| name.match?(/\.\d+\z/) }
        .sort_by { |name| -name[/\d+\z/].to_i }
    [*old, file].flat_map { |name| File.readlines(name, chomp: true) }
  end

  test "with any process killed, the file holds each accepted record once, in order" do
    not_on :jruby, "its processes take seconds to begin, and three run at once"
    random = Random.new(SEED)
    victims = [writer("a"), writer("b"), receiver("plain")].each(&:revive)
    finish = monotonic + SECONDS
    kills = 0
    while monotonic < finish || kills < 6
      victim = victims.sample(random: random)
      kill(victim, random)
      victim.revive
      kills += 1
    end
    2.times do |index|
      result = assert_child(victims[index].child.finish)
      assert_equal "flushed\n", result.stdout, result.to_s
      victims[index].over(scratch_dir)
    end
    assert_equal "closed\n", assert_child(victims[2].child.finish).stdout
    victims[2].over(scratch_dir)
    check(victims, kills)
  end

  def check(victims, kills)
    lines = in_file
    seen = Hash.new { |hash, key| hash[key] = [] }
    lines.each do |line|
      match = line.match(/\A(?:I, \[.*billing: )?([a-z]+\d+) (\d+)\z/)
      refute_nil match, "an invented line: #{line.inspect} (seed #{SEED})"
      seen[match[1]] << match[2].to_i
    end
    made = victims.map(&:made).reduce(:merge)
    made.each do |mark, taken|
      numbers = seen[mark]
      assert_equal (1..numbers.size).to_a,
        numbers,
        "#{mark}: each once, in order (seed #{SEED}, #{kills} kills)"
      # of which the killed writer did not report the last one
      assert_includes [taken, taken + 1],
        numbers.size,
        "#{mark}: #{taken} were taken (seed #{SEED}, #{kills} kills)"
    end
    puts "#{kills} kills, #{lines.size} records, seed #{SEED}" if ENV["GODWIT_LOGGER_KILL_SECONDS"]
  end
end
