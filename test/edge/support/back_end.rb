# frozen_string_literal: true

require_relative "server_child"

# A ZeroMQ server in a child process on CRuby. An app reaches it as `prices.request("eur 7")`.
class BackEnd
  include ServerChild

  # Replies to "eur 7" with "eur 7". Retains each "hold…" until "release" comes, and then replies
  # to them in reverse order. Sends no reply to "lose…", two replies to "twice…", the number of
  # retained requests to "count", all received texts to "seen", its endpoint to "endpoint".
  ROUTER = <<~'RUBY'
    socket = Godwit::ROUTER.new(recv_hwm: 0, send_hwm: 0, **OPTIONS)
    socket.bind(ENDPOINT)
    seen, held = [], []
    puts "ready"
    loop do
      *route, text = socket.recv
      seen << text
      case text
      when "release", /\Ahold/
        held << [*route, text]
        held.pop(held.size).reverse_each { |message| socket.send(message) } if text == "release"
      when /\Alose/ then next
      when "count" then socket.send([*route, held.size.to_s])
      when "seen" then socket.send([*route, *seen])
      when "endpoint" then socket.send([*route, ENDPOINT])
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

  # @param options [String] Ruby source of a Hash: the socket's options
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

  def start
    @child = @test.start_child(@program, deadline: @test.class.deadline)
    @child.wait_for("ready")
    self
  end
end
