# frozen_string_literal: true

# A program: a random walk over the public API. It succeeds unless the process dies, or a call
# raises an error that is not Godwit's. Usage: ruby walk.rb SEED [STEPS]. With VERBOSE it prints its
# choices.
require "godwit"
require "tmpdir"

class Walk
  TYPES = %i[PAIR PUB SUB REQ REP DEALER ROUTER PULL PUSH XPUB XSUB STREAM].freeze
  # Time-out of calls that wait, in seconds.
  BRIEFLY = 0.002
  NUMBERS = [-1, 0, 1, 2, 10, 100, 1000, 65_536].freeze
  WORDS = ["", "a", "b", "topic", "127.0.0.1", "\0\1\2", "x" * 40, "lo"].freeze
  SECONDS = [nil, 0, 0.001, 0.01, 1].freeze
  # Options left out: use_fd could name a descriptor in use, linger could delay the end.
  APART = %i[use_fd linger].freeze
  MESSAGES = [
    "", "x", "x" * 100, "x" * 100_000, %w[a b], ["", "body"], ["\0\0\0\0\1", "", "body"], ["a"] * 20
  ].freeze
  # libzmq aborts when a socket bound to this endpoint closes during a handshake (docs/limits.md).
  ZAP = "inproc://zeromq.zap.01"
  STEPS = %i[
    open open connect connect connect bind bind bind send send send send receive receive receive
    receive option option detach close topics ask poll request context_too frames monitor
  ].freeze

  def initialize(seed, directory)
    @random = Random.new(seed)
    @directory = directory
    @contexts = [new_context]
    @sockets = []
    @zap = []
    @endpoints = %w[
      inproc://a inproc://b inproc://c tcp://127.0.0.1:* tcp://127.0.0.1:7 ipc://@godwit-walk-none
    ] << ZAP
  end

  def run(steps)
    steps.times do |number|
      trace number
      __send__(pick(STEPS), socket)
    rescue Godwit::Error
      nil
    end
    @sockets.each { |socket| socket.set(:linger, 0) unless socket.closed? }
    (@sockets - @zap + @zap).each(&:close)
    @contexts.each(&:close)
  end

  private

  def pick(from) = trace(from.sample(random: @random))

  def trace(choice)
    warn choice.inspect[0, 100] if ENV["VERBOSE"]
    choice
  end

  def new_context = Godwit::Context.new(linger: 0)

  def socket = (@sockets.size > 3) ? pick(@sockets) : open

  # Each step gets a socket, which the step may ignore.
  def open(_ = nil)
    type = pick(TYPES)
    given = Array.new(@random.rand(3)) { an_option }.to_h
    one = Godwit.const_get(type).new(context: pick(@contexts), **given)
    @sockets << one
    @sockets.delete((@sockets - @zap).first).close if @sockets.size > 30
    one
  end

  def an_option
    option = pick(Godwit::Options::SOCKET.values.reject do |one|
      APART.include?(one.name) || !one.writable? || one.by_hand?
    end)
    [option.name, value_for(option)]
  end

  def value_for(option)
    case option.type
    when :bool then pick([true, false])
    when :duration then pick(SECONDS)
    when :enum then pick(option.values.keys)
    when :flags then option.values.keys.select { @random.rand(2).zero? }
    when :text, :bytes, :key then pick([nil, *WORDS])
    else pick([nil, option.min, option.max, *NUMBERS].compact)
    end
  end

  def option(one)
    name, value = an_option
    @random.rand(4).zero? ? one.get(name) : one.set(name, value)
  end

  def bind(one)
    endpoint = @random.rand(6).zero? ? "ipc://#{@directory}/#{@random.rand(3)}" : pick(@endpoints)
    one.bind(endpoint)
    @zap << one if endpoint == ZAP
    @endpoints << one.last_endpoint unless @endpoints.include?(one.last_endpoint)
  end

  def connect(one) = one.connect(pick(@endpoints))

  def detach(one)
    endpoint = pick(one.endpoints) or return
    @random.rand(2).zero? ? one.disconnect(endpoint) : one.unbind(endpoint)
  end

  def send(one)
    message = pick(MESSAGES)
    message = [pick(@names), *message] if one.type == :ROUTER && @names
    @random.rand(1..5).times { one.send_nonblock(message, exception: false) }
  end

  def receive(one)
    message = one.recv_nonblock(exception: false)
    (@names ||= []) << message.first if message.is_a?(Array) && one.type == :ROUTER
    one.recv(timeout: BRIEFLY, exception: false)
  end

  def topics(one)
    topic = pick(WORDS)
    @random.rand(2).zero? ? one.subscribe(topic) : one.unsubscribe(topic)
  end

  def ask(one) = [one.events, one.inspect, one.endpoints, one.get(:last_endpoint)]

  def poll(one)
    some = [one, socket, socket].uniq.reject { |each| %i[PUB PUSH].include?(each.type) }
    Godwit::Poller.new(*some) { |poller| poller.wait(BRIEFLY) }
  end

  def request(one)
    one.request("question", timeout: BRIEFLY, retries: 1) if one.type == :REQ
  end

  def frames(one)
    unless %i[STREAM REQ REP].include?(one.type)
      one.send_frame("part", more: true, timeout: BRIEFLY)
    end
    one.recv_frame(timeout: BRIEFLY)
  end

  def monitor(one)
    monitor = one.monitor
    one.connect(pick(@endpoints))
    monitor.recv(timeout: BRIEFLY)
  ensure
    monitor&.close
  end

  def close(one)
    return if @sockets.size < 4 || @zap.include?(one)
    @sockets.delete(one)
    one.set(:linger, pick([0, 0.01])) if @random.rand(2).zero?
    @random.rand(8).zero? ? GC.start : one.close
  end

  def context_too(_)
    return unless @random.rand(10).zero?
    if @contexts.size > 1
      gone = pick(@contexts - @zap.map(&:context)) or return
      @contexts.delete(gone)
      gone.close
      @sockets.delete_if(&:closed?)
    else
      @contexts << new_context
    end
  end
end

Dir.mktmpdir do |directory|
  Walk.new(Integer(ARGV.fetch(0)), directory).run(Integer(ARGV.fetch(1, 400)))
end
puts "ended"
