# frozen_string_literal: true

require "test_helper"
require "socket"

# rsyslog with its modules for ZeroMQ (Debian: rsyslog, rsyslog-czmq), in both directions, with the
# configuration in docs/logging.md. rsyslog runs as a child with its own file, pid file and folder,
# beside the system's service. Debian's rsyslog ends by a signal, so the exit status means nothing.
class RsyslogTest < Godwit::TestCase
  RSYSLOGD =
    %w[rsyslogd /usr/sbin/rsyslogd].find do |name|
      system(name, "-v", out: File::NULL, err: File::NULL)
    end
  MODULES = Dir["/usr/lib/*/rsyslog/{im,om}czmq.so"]
  PAGE = File.expand_path("../../docs/logging.md", __dir__)

  def setup
    if RSYSLOGD.nil? || MODULES.size < 2
      skip "rsyslog and rsyslog-czmq are not installed (bin/setup installs them)"
    end
  end

  # The example of docs/logging.md that loads this module of rsyslog.
  # @param changes [Hash{String => String}] texts to replace
  def example(name, changes)
    text = File.read(PAGE).scan(/^```text\n(.*?)^```$/m).flatten
      .find { |block| block.include?(%(module(load="#{name}"))) }
    changes.reduce(text) do |changed, (old, new)|
      assert_includes changed, old
      changed.gsub(old, new)
    end
  end

  def rsyslog(configuration)
    file = "#{scratch_dir}/rsyslog.conf"
    File.write(file, %(global(workDirectory="#{scratch_dir}")\n#{configuration}))
    start_command([RSYSLOGD, "-n", "-f", file, "-i", "#{scratch_dir}/pid"])
  end

  # An ipc endpoint for rsyslog. rsyslog cannot report which free port it has bound, and another
  # process may take a port that was free.
  def endpoint = "ipc://#{scratch_dir}/rsyslog"

  # The path of the socket by which programs log to rsyslog.
  def log_socket = "#{scratch_dir}/log"

  # @param severity [Integer] of syslog: 3 is an error, 6 is information
  def syslog(severity, text)
    @syslog ||=
      own(Socket.new(:UNIX, :DGRAM).tap { |socket| socket.connect(Socket.sockaddr_un(log_socket)) })
    @syslog.send("<#{8 + severity}>#{Time.now.strftime("%b %e %H:%M:%S")} billing[42]: #{text}", 0)
  end

  def stop(child) = child.signal(:TERM).finish

  test "rsyslog takes plain lines: each whole, in order, as Ruby's Logger would have written " \
    "them" do
    file = "#{scratch_dir}/godwit.log"
    child = rsyslog(example("imczmq", "tcp://*:7000" => endpoint, "/var/log/godwit.log" => file))
    log = own(Godwit::Logger.new(endpoint, wire: :plain, progname: "billing"))
    log.info("first")
    log.error("two\nlines")
    log.warn("#{"x" * 9_000}end")
    log.info("a NUL\0inside, and ümläuts")
    100.times { |number| log.debug("number #{number}") }
    log << "raw"
    lines =
      eventually("rsyslog has not written all") do
        File.exist?(file) && File.readlines(file, encoding: "UTF-8", chomp: true)
          .then { |all| all if all.last == "raw" }
      end
    stop(child)
    texts = lines.map { |line| line[/ -- billing: (.*)/, 1] || line }
    assert_equal [
      "first", "two", "lines", "#{"x" * 9_000}end", "a NULinside, and ümläuts",
      *Array.new(100) { |number| "number #{number}" }, "raw"
    ],
      texts
    assert_match(
      /\AE, \[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6} ##{Process.pid}\] ERROR -- billing: two\z/,
      lines[1]
    )
  end

  test "rsyslog's PUSH: its messages in Reader, with level and program" do
    reader = own(Godwit::Logger::Reader.new("tcp://127.0.0.1:*"))
    child = rsyslog(<<~TEXT + example("omczmq", "tcp://loghost:7000" => reader.last_endpoint))
      module(load="imuxsock" SysSock.Use="off")
      input(type="imuxsock" Socket="#{log_socket}")
    TEXT
    eventually("rsyslog does not listen") { File.socket?(log_socket) }
    {7 => "debug", 6 => "info", 4 => "warn", 3 => "error", 2 => "crit"}.each do |severity, text|
      syslog(severity, "it is #{text}")
    end
    syslog(3, "a tab\there")
    records = Array.new(6) { reader.recv(timeout: 15) }
    stop(child)
    assert_equal [
      [0, "it is debug"], [1, "it is info"], [2, "it is warn"], [3, "it is error"],
      [4, "it is crit"]
    ],
      records.first(5).map { |record| [record.level, record.text] }
    assert_equal ["billing"], records.map(&:prog).uniq
    assert_match(/\Aa tab(\t|#011)here\z/, records.last.text)
    assert(records.all? { |record| record.plain? && (Time.now - record.time).abs < 60 })
    assert_equal [6, 6, 0], [reader.received, reader.plain, reader.foreign]
  end
end
