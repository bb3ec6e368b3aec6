# frozen_string_literal: true

require_relative "server_child"

# A ZeroMQ server of CRuby Godwit in a child process, which `prices.request("eur 7")` reaches.
class BackEnd
  include ServerChild

  # Replies "eur 7" to "eur 7". A ROUTER retains "hold …" until "release" comes, and replies to the
  # held ones in reverse order; "lose …" has no reply; "frames" has one of two frames.
  ROUTER = <<~'RUBY'
    socket = Godwit::ROUTER.new(recv_hwm: 0, send_hwm: 0, **OPTIONS)
    socket.bind(ENDPOINT)
    held = []
    puts "ready"
    loop do
      *route, text = socket.recv
      case text
      when "release", /\Ahold/
        held << [*route, text]
        held.pop(held.size).reverse_each { |message| socket.send(message) } if text == "release"
        puts "holds #{held.size}"
      when /\Alose/ then puts text
      when "frames" then socket.send([*route, "one", "two"])
      when /\Atwice/ then 2.times { socket.send([*route, text]) }
      else socket.send([*route, text])
      end
    end
  RUBY

  REP = <<~RUBY
    socket = Godwit::REP.new(**OPTIONS)
    socket.bind(ENDPOINT)
    puts "ready"
    loop { socket.send(socket.recv) }
  RUBY

  attr_reader :endpoint

  # @param options [String] Ruby source of the socket's options
  def initialize(test, source = ROUTER, endpoint: nil, options: "{}")
    @test = test
    @endpoint = endpoint || "tcp://127.0.0.1:#{Godwit::TestSupport::Ports.free}"
    @program = <<~RUBY
      require "godwit"
      $stdout.sync = true
      ENDPOINT = #{@endpoint.inspect}
      OPTIONS = #{options}
      #{source}
    RUBY
    start
  end

  # @return [self]
  def start
    @child = @test.start_child(@program, deadline: @test.class.deadline)
    @child.wait_for("ready")
    self
  end

  # Waits until it has printed this.
  def wait_for(text) = @child.wait_for(text)

  # @return [String] what it has printed
  def output = @child.stdout
end
