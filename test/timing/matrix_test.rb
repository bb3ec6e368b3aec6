# frozen_string_literal: true

require "test_helper"
require "json"
require "socket"
require "support/network"

# `godwit perf matrix` of three agents, each on its own machine: a relay of the test joins their
# networks, and delays each frame.
class MatrixTimingTest < NetworkCase
  RELAY = [RbConfig.ruby, "-W", "test/support/frame_relay.rb"].freeze
  DELAYS = {%w[a b] => 0.001, %w[a c] => 0.005, %w[b c] => 0.001}.freeze # seconds, each direction
  NAMES = %w[a b c].freeze
  COUNT = 200 # round trips
  # A plain TCP echo, and its client, which prints the median of its round trips in seconds.
  ECHO = <<~RUBY
    listener = TCPServer.new(ARGV.fetch(0), 7901)
    puts "ready"
    $stdout.flush
    loop do
      socket = listener.accept
      socket.setsockopt(:TCP, :NODELAY, true)
      while (bytes = socket.read(5))
        socket.write(bytes)
      end
    end
  RUBY
  CLIENT = <<~RUBY
    socket = TCPSocket.new(ARGV.fetch(0), 7901)
    socket.setsockopt(:TCP, :NODELAY, true)
    times = Array.new(#{COUNT}) do
      start = Process.clock_gettime(Process::CLOCK_MONOTONIC)
      socket.write("hello")
      socket.read(5)
      Process.clock_gettime(Process::CLOCK_MONOTONIC) - start
    end
    puts times.sort[#{COUNT} / 2]
  RUBY
  CHECKSUM_OFFLOAD = 0x17 # ETHTOOL_STXCSUM
  SIOCETHTOOL = 0x8946

  def address(name) = "10.78.0.#{NAMES.index(name) + 1}"

  # A child that runs until the end of the test.
  def server(child, ready)
    (@servers ||= []) << child.wait_for(ready)
  end

  # The relay passes frames on as they are: they need their checksums.
  def compute_checksums(interface)
    value = [CHECKSUM_OFFLOAD, 0].pack("LL")
    Socket.open(:INET, :DGRAM) do |socket|
      socket.ioctl(SIOCETHTOOL, [interface, [value].pack("P")].pack("a16a24"))
    end
  end

  def machines
    @machines ||= NAMES.each_with_index.to_h do |name, index|
      Network.run("ip", "link", "add", "relay#{index}", "type", "veth",
        "peer", "name", "host#{index}", "address", "02:00:00:00:00:0#{index}")
      Network.run("ip", "link", "set", "relay#{index}", "up")
      compute_checksums("host#{index}")
      [name, Network.machine("host#{index}", address(name))]
    end
  end

  # Broadcasts do not pass the relay, so that each machine must know the others' addresses.
  def join
    machines.each_with_index do |(name, pid), index|
      NAMES.each_with_index do |other, far|
        next if other == name
        Network.run(*Network.there(pid, "ip", "neigh", "add", address(other),
          "lladdr", "02:00:00:00:00:0#{far}", "dev", "host#{index}", "nud", "permanent"))
      end
    end
    server(start_command([*RELAY, *DELAYS.values.map(&:to_s)]), /ready/)
  end

  def on(name, *command, **options)
    start_command(Network.there(machines.fetch(name), *command), **options)
  end

  def script(name, text, *arguments)
    on(name, RbConfig.ruby, "-rsocket", "-e", text, *arguments)
  end

  def matrix
    places = NAMES.to_h { |name| [name, "tcp://#{address(name)}:7900"] }
    places.each do |name, place|
      server(on(name, *GODWIT, "perf", "serve", place, "--agent", "--insecure"), /serves at/)
    end
    words = places.map { |name, place| "#{name}=#{place}" }
    child = on("a", *GODWIT, "perf", "matrix", *words, "--count", COUNT.to_s, "--json",
      deadline: 120)
    assert_child(child.finish).stdout.lines.map { |line| JSON.parse(line) }
  end

  def plain_echo(source, dest)
    Float(assert_child(script(source, CLIENT, address(dest)).finish).stdout)
  end

  test "each row through a relay has its delay, as a plain TCP echo has" do
    not_on :ffi, "its own calls take more than 20 % of 2 ms beside any other load"
    join
    rows = matrix
    assert_equal NAMES.product(NAMES), rows.map { |row| row.values_at("source", "dest") }
    NAMES.each { |name| server(script(name, ECHO, address(name)), /ready/) }
    rows.each do |row|
      source, dest = row.values_at("source", "dest")
      assert_equal [nil, COUNT], row.values_at("error", "count"), "#{source} to #{dest}"
      next assert_equal "localhost", row["connection"] if source == dest
      plain = plain_echo(source, dest)
      assert_operator row["p50"], :>=, 2 * DELAYS.fetch([source, dest].sort)
      assert_in_epsilon plain, row["p50"], 0.2, "#{source} to #{dest}"
    end
  ensure
    @servers&.each { |child| child.signal(:TERM).finish }
  end
end
