# frozen_string_literal: true

# run.rb FOLDER FORM: the tests of Ruby's Logger (FOLDER: rakelib/support/ruby_logger_tests.rb),
# where `Logger` means
#   local    Godwit::Logger as it is: the tests give it nil and IOs
#   plain a logger that sends lines to a reader, which writes them to the device that the test gave
#   records  the same with records, from which the reader makes the lines
# exclusions.yml names the tests that cannot hold and why; a missing test is an error.
require "godwit"
require "stringio"
require "yaml"

FOLDER, FORM = ARGV.shift(2)
$LOAD_PATH.unshift("#{FOLDER}/tool/lib")
require "test/unit"

# A Logger that is given a device, as Ruby's is, and reaches it through an endpoint.
class Shipped < Godwit::Logger
  LAST = "the last one of the test"

  @made = []
  class << self
    attr_reader :made
  end

  def initialize(device, *, **options)
    Shipped.made << self
    @device = device
    @pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
    @ended = Thread::Queue.new
    @reader = Thread.new { @pull.each { |message| take(message) } }
    super(@pull.last_endpoint, wire: FORM.to_sym, **options)
  end

  # The output of the block's calls so far.
  def written
    arrive
    device, @device = @device, StringIO.new
    yield
    arrive
    @device.string
  ensure
    @device = device
  end

  def dispose
    close
    @pull.close
    @reader.join
  end

  private

  # Waits until all has come through.
  def arrive
    unknown(LAST)
    @ended.pop
  end

  def take(message)
    line = (FORM == "plain") ? "#{message}\n" : Record.parse(message).to_s
    line.include?(LAST) ? @ended << true : @device&.write(line)
  end
end

SUBJECT = (FORM == "local") ? Godwit::Logger : Shipped

# The tests find it before Ruby's own, as their classes are theirs alone.
%w[TestFormatter TestLogger TestLogDevice TestLogPeriod TestLoggerSeverity].each do |name|
  Object.const_set(name, Class.new(Test::Unit::TestCase) { const_set(:Logger, SUBJECT) })
end

# Replaces a device put into the logger: the lines that have arrived.
module Written
  def log_raw(logger, name, *arguments, &block)
    logger.written { logger.__send__(name, *arguments, &block) }
  end

  def teardown
    super
    Shipped.made.shift.dispose until Shipped.made.empty?
  end
end

# libzmq closes a socket's descriptors a moment later.
LeakChecker.define_method(:check) { |_name| false }

files = Dir["#{FOLDER}/test/logger/test_#{(FORM == "local") ? "*" : "logger"}.rb"]
files.each { |file| require file }
TestLogger.prepend(Written) unless FORM == "local"
YAML.load_file("#{__dir__}/exclusions.yml").fetch(FORM).each_key do |name|
  type, test = name.split("#")
  Object.const_get(type).remove_method(test) # a NameError says that it is not there
end
ARGV.replace(["--verbose", *files])
exit Test::Unit::AutoRunner.run(true, FOLDER)
