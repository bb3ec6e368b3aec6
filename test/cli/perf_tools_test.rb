# frozen_string_literal: true

require "test_helper"
require "godwit/cli"
require_relative "../../rakelib/support/libzmq_perf"

# `godwit perf local_lat`, `remote_lat`, `local_thr` and so on, compared with libzmq's programs.
class CLIPerfToolsTest < Godwit::TestCase
  HALF = "godwit: the latency is half of the round-trip time\n"
  FIGURE = /\d+(?:\.\d{3})?(?= \[(?:us|msg|Mb))/

  def godwit(*words) = run_line("perf", *words)

  # @return [String] folder of libzmq's programs, fetched once: a fetch without a network is slow
  def folder
    @@folder ||= begin # standard:disable Style/ClassVars -- no subclass
      Godwit::LibzmqPerf.fetch
    rescue Godwit::DebianSource::Failure => error
      error
    end
    @@folder.is_a?(String) ? @@folder : skip("no perf tools of libzmq: #{@@folder.message}")
  end

  def start_c(name, *arguments) = start_command(["#{folder}/#{name}", *arguments.map(&:to_s)])
  def start_godwit(*words) = start_command([*GODWIT, "perf", *words.map(&:to_s)])

  # Runs both programs, over tcp: over ipc libzmq drops messages when the sender ends while the
  # receiver is at its high-water mark (zeromq/libzmq#4660).
  # @return [Array<Child::Result>] results of the local and of the remote program
  def exchange(local, remote, kind, *arguments)
    endpoint = "tcp://#{own_host}:7901"
    children = [send(:"start_#{local}", "local_#{kind}", endpoint, *arguments),
      send(:"start_#{remote}", "remote_#{kind}", endpoint, *arguments)]
    children.map { |child| assert_child(child.finish) }
  end

  def form(output) = output.gsub(FIGURE, "N")

  Godwit::LibzmqPerf::PROGRAMS.each do |name|
    test "the usage of #{name} is that of libzmq's program" do
      original = start_c(name).finish
      assert_equal 1, original.status.exitstatus
      expected = [1, original.stdout, ""]
      assert_equal expected, godwit(name)
      assert_equal expected, godwit(name, *%w[tcp://:1 1 1 1 1])
      assert_match(/\Ausage: #{name} </, original.stdout)
    end
  end

  {"latency" => ["lat", 100, 2_000], "throughput" => ["thr", 100, 20_000],
   "throughput with CURVE" => ["thr", 100, 20_000, 1]}.each do |name, (kind, *arguments)|
    test "#{name}: all pairs of libzmq's and Godwit's programs print the same lines" do
      skip "this libzmq has no CURVE" unless arguments.size < 3 || Godwit.has?(:curve)
      outputs = [%i[c c], %i[godwit c], %i[c godwit], %i[godwit godwit]].map do |local, remote|
        measured, other = exchange(local, remote, kind, *arguments)
        measured, other = other, measured if kind == "lat"
        assert_equal ["", "", (kind == "lat" && remote == :godwit) ? HALF : ""],
          [other.stdout, other.stderr, measured.stderr]
        form(measured.stdout)
      end
      assert_equal 1, outputs.uniq.size, outputs
      assert_includes outputs.first, "N ["
    end
  end

  %w[inproc_lat inproc_thr].each do |name|
    test "#{name} prints the lines of libzmq's program, and its figures agree" do
      original = assert_child(start_c(name, 10, 2_000).finish)
      status, out, err = godwit(name, 10, 2_000)
      assert_equal [0, form(original.stdout), (name == "inproc_lat") ? HALF : ""],
        [status, form(out), err]
      rate, megabits = out.scan(FIGURE).map { |text| Float(text) }
      assert_in_delta rate * 10 * 8 / 1e6, megabits, 0.01 if megabits
    end
  end

  test "the zerocopy tools send frames, and print what ffi-rzmq's examples print" do
    served, measured = exchange(:godwit, :godwit, "lat_zerocopy", 70_000, 500)
    assert_equal ["", "", HALF], [served.stdout, served.stderr, measured.stderr]
    assert_equal "message size: 70000 [B]\nroundtrip count: 500\n" \
      "throughput (msgs/s): N\nmean latency: N [us]\n",
      form(measured.stdout).sub(/s\): \d+$/, "s): N")
    %w[local_lat_zerocopy remote_lat_zerocopy].each do |name|
      assert_equal [1, "usage: #{name} <connect-to> <message-size> <roundtrip-count>\n", ""],
        godwit(name)
    end
  end

  test "a message of incorrect size has status 1" do
    %w[local_lat local_lat_zerocopy local_thr].each do |name|
      endpoint = endpoint_for(:ipc_file)
      local = start_godwit(name, endpoint, 10, 5)
      type = (name == "local_thr") ? :PUSH : :REQ
      open_socket(type, linger: 0).connect(endpoint) << %w[12345 67890]
      result = local.finish
      assert_equal [1, "message of incorrect size received\n", ""],
        [result.status.exitstatus, result.stdout, result.stderr]
    end
    %w[remote_lat remote_lat_zerocopy].each do |name|
      rep = open_socket(:REP).bind(endpoint_for(:ipc))
      in_thread { rep.serve { |message| message.to_s + "!" } }
      assert_equal [1, "message of incorrect size received\n", ""],
        godwit(name, rep.last_endpoint, 10, 5)
    end
  end

  test "wrong values have status 1, and the message names them" do
    {%w[inproc_lat -1 5] => "-1", %w[inproc_lat x 5] => '"x"', %w[inproc_lat 1k 5] => '"1k"',
     %w[inproc_lat 1 3000000000] => '"3000000000"', %w[inproc_thr 1 0] => '"0"',
     %w[local_thr tcp://:1 1 1 yes] => '"yes"', %w[local_lat nowhere 1 1] => "nowhere",
     %w[local_lat tcp://*:99999 1 1] => "99999", %w[remote_lat tcp://*:1 1 1] => "tcp://*:1"}
      .each { |words, says| assert_fails(1, says, "perf", *words) }
  end
end
