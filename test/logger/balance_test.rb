# frozen_string_literal: true

require "test_helper"

# Writers and their reader are killed by kill -9 and started again, at random. Each writer notes in
# a file the records that it is about to log, each reader the records that it got. The statistics
# must agree with these files. GODWIT_LOGGER_BALANCE_SECONDS sets a longer run (rake soak:logger).
class LoggerBalanceTest < Godwit::TestCase
  SECONDS =
    Float(
      ENV.fetch("GODWIT_LOGGER_BALANCE_SECONDS") do
        Godwit::TestSupport::Length.of("1.5", long: "3")
      end
    )
  SEED =
    Integer(
      ENV.fetch("GODWIT_LOGGER_BALANCE_SEED") do
        Godwit::TestSupport::Length.of(4711, long: rand(1 << 16))
      end
    )
  WRITERS = 4
  LEAST = 3 # deaths of writers, however busy the machine is
  deadline SECONDS + 60

  NOTES = <<~RUBY
    require "godwit"
    notes = File.open(ARGV.fetch(1), File::WRONLY | File::CREAT | File::APPEND | File::BINARY)
    stopping = false
  RUBY

  WRITER = <<~RUBY
    #{NOTES}
    Thread.new { $stdin.read; stopping = true }
    name = ARGV.fetch(2)
    log = Godwit::Logger.new(ARGV.fetch(0), progname: name, linger: 20)
    number = 0
    until stopping
      number += 1
      notes.syswrite("\#{number}\\n")
      log.info("\#{name} \#{number}")
      sleep(0.002) if (number % 20).zero?
    end
    log.close
    puts "sent \#{log.stats.sent} dropped \#{log.stats.dropped}"
  RUBY

  READER = <<~RUBY
    #{NOTES}
    reader = Godwit::Logger::Reader.new(ARGV.fetch(0), state: ARGV.fetch(2))
    puts "bound"
    Thread.new { $stdin.read; reader.close }
    reader.each do |record|
      now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      notes.syswrite("\#{record.writer} \#{record.seq} \#{record.text} \#{now}\\n")
    end
    puts "closed"
  RUBY

  # What the reader's file says of a writer.
  Got = Struct.new(:name, :seqs, :numbers, :times)
  # Seconds between two writings of a reader's statistics, and the delay of a busy machine.
  PERIOD = 1.0 + 5.0

  test "writers killed, the reader alive: only the last records of killed writers are lost" do
    run_for(SECONDS / 2, %i[writer])
    assert_balance
    assert_equal [0], @accounts.map(&:lost).uniq
  end

  test "writers and the reader killed: each writer's records are received or reported lost, up " \
    "to its last" do
    run_for(SECONDS, %i[writer reader])
    assert_balance
  end

  private

  def run_for(seconds, victims)
    not_on :jruby, "a process takes seconds to start there: too few could die while the test runs"
    @random = Random.new(SEED)
    # Another process could take a port before the next reader binds it.
    @endpoint = endpoint_for(:ipc_file)
    @killed = []
    @reader_deaths = []
    start_reader
    @writers = {}
    WRITERS.times { start_writer }
    finish = monotonic + seconds
    until monotonic > finish && @killed.size >= LEAST && (victims.one? || @reader_deaths.any?)
      sleep(@random.rand(0.05..0.4)) # the time between two deaths
      (victims.sample(random: @random) == :reader) ? kill_reader : kill_writer
    end
    settle
  end

  def start_reader
    @reader =
      start_child(
        READER, [@endpoint, "#{scratch_dir}/got", "#{scratch_dir}/state"], deadline: SECONDS + 60
      )
    @reader.wait_for(/^bound$/)
  end

  def start_writer
    name = "writer#{@killed.size + @writers.size}"
    @writers[name] = start_child(
      WRITER, [@endpoint, "#{scratch_dir}/#{name}", name], deadline: SECONDS + 60
    )
  end

  def kill_reader
    @reader.signal(:KILL).finish
    @reader_deaths << monotonic
    start_reader
  end

  def kill_writer
    name = @writers.keys.select { |one| made(one) > 0 }.sample(random: @random) or return
    @writers.delete(name).signal(:KILL).finish
    @killed << name
    start_writer
  end

  # Living writers end normally, and the reader when it has all of their records.
  def settle
    eventually("a writer never began") { @writers.keys.all? { |name| made(name) > 0 } }
    @dropped =
      @writers.transform_values do |child|
        Integer(assert_child(child.finish).stdout[/^sent \d+ dropped (\d+)$/, 1])
      end
    eventually("the last records never came (seed #{SEED})") do
      got = notes
      @writers.keys.all? { |name| (one = got[name]) && one.numbers.last == made(name) }
    end
    assert_equal "closed", assert_child(@reader.finish).stdout.lines.last.chomp
    @accounts =
      Godwit::Logger::Reader.new("tcp://127.0.0.1:*", state: "#{scratch_dir}/state", &:writers)
  end

  # How many it has at most handed to its logger.
  def made(name)
    if File.exist?("#{scratch_dir}/#{name}")
      File.foreach("#{scratch_dir}/#{name}").count { |line| line.end_with?("\n") }
    else
      0
    end
  end

  # @return [Hash{String => Got}] by name
  def notes
    @ids = {}
    File.foreach("#{scratch_dir}/got").each_with_object({}) do |line, got|
      id, seq, name, number, time = line.split
      next unless line.end_with?("\n")
      (@ids[name] ||= []) << id unless @ids[name]&.last == id
      one = got[name] ||= Got.new(name, [], [], [])
      one.seqs << seq.to_i
      one.numbers << number.to_i
      one.times << time.to_f
    end
  end

  def assert_balance
    got = notes
    assert(@ids.values.all? { |ids| ids.size == 1 }, "a writer has a single id: #{@ids.inspect}")
    by_name = @accounts.to_h { |account| [account.prog, account] }
    assert_empty by_name.keys - got.keys
    got.each_value { |one| assert_account(one, by_name[one.name]) }
    @writers.each_key do |name|
      assert_equal [made(name), 0],
        [by_name.fetch(name).last, @dropped.fetch(name)],
        "#{name} has reported all that it made (seed #{SEED})"
    end
  end

  def assert_account(one, account)
    details = "#{one.name}: #{account.to_h}, seed #{SEED}"
    assert_equal one.seqs, one.seqs.sort.uniq, "each record once, in order. #{details}"
    assert_equal one.seqs, one.numbers, "the seq is the number of the call. #{details}"
    assert_operator one.seqs.last, :<=, made(one.name), "no record is invented. #{details}"
    last = account ? account.last : 0
    assert_known_to_the_dead(one, last, details) if one.seqs.last > last
    return unless account
    assert_equal account.last,
      account.received + account.lost,
      "every record up to the last is received or lost. #{details}"
    assert_equal 0, account.late, details
    # Records that a reader got after its last written statistics are lost to the next reader.
    missing = last - one.seqs.count { |seq| seq <= last }
    assert_operator account.lost, :>=, missing, details
    assert_equal account.lost, missing, details if @reader_deaths.empty?
  end

  # Both are dead: the writer, and the reader that alone knew of its last records, as it wrote its
  # accounts before.
  def assert_known_to_the_dead(one, last, details)
    refute @writers.key?(one.name), details
    times = one.seqs.zip(one.times).filter_map { |seq, time| time if seq > last }
    assert(
      times.all? { |time| @reader_deaths.any? { |death| (time..time + PERIOD).cover?(death) } },
      "read, and not in the statistics. #{details}"
    )
  end
end
