# frozen_string_literal: true

require "resolv"

module ZMQ
  @interrupted = false

  module_function

  def Frame(data = nil) = Frame.new(data)

  def Message(*strings)
    strings.each_with_object(Message.new) { |string, message| message.addstr(string) }
  end

  def Pollitem(pollable, events = nil) = Pollitem.new(pollable, events)
  def context = Context.current
  def loop = ZMQ.instance_variable_get(:@loop) || ZMQ.instance_variable_set(:@loop, Loop.new)

  # Like IO.select, for sockets and IOs.
  # @param timeout [Integer, Float, nil] seconds; nil: does not wait
  # @return [Array(Array, Array, Array)] readable, writable, and an empty Array
  def select(read = [], write = [], _error = [], timeout = nil)
    poller = Poller.new
    read&.each { |thing| poller.register_readable(thing) }
    write&.each { |thing| poller.register_writable(thing) }
    poller.poll(timeout)
    [poller.readables, poller.writables, []]
  ensure
    poller&.close
  end

  def resolver = @resolver ||= Resolv::DNS.new
  def interrupted? = ZMQ.instance_variable_get(:@interrupted)

  # Ends all running loops of this process.
  def interrupted!
    ZMQ.instance_variable_set(:@interrupted, true)
    Loop.interrupt_all
    nil
  end

  def version = Godwit.libzmq_version.split(".").map(&:to_i)
  # @return [Array(Integer, Integer, Integer)] version of the CZMQ that rbczmq had; Godwit has none
  def czmq_version = [2, 2, 0]
  def now = Process.clock_gettime(Process::CLOCK_REALTIME, :millisecond)

  def log(line)
    Arguments.type(line, String)
    $stdout.puts "#{Time.now.strftime("%y-%m-%d %H:%M:%S")} #{line}"
  end

  def error
    number = errno
    return if number.zero?
    Error.new(Godwit::Errors.find(number, "")&.text || SystemCallError.new(nil, number).message)
  end

  def errno = Failures.errno

  # Passes messages between two sockets until a signal is handled or the context is destroyed.
  def proxy(front, back, capture = nil)
    [front, back, *capture].each { |socket| Arguments.type(socket, Socket).alive! }
    Failures.translated do
      proxy = Godwit::Proxy.new(front.godwit, back.godwit, capture: capture&.godwit)
      Interrupts.during(-> { proxy.stop }) { proxy.run }
    end
    -1
  rescue Error, SystemCallError => error
    ends = [Godwit::ClosedError, Godwit::ContextTerminatedError]
    raise unless ends.any? { |klass| error.cause.is_a?(klass) }
    -1
  end
end
