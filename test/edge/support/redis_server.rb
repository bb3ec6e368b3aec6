# frozen_string_literal: true

require "fileutils"
require_relative "server_child"

# A redis-server without persistence.
class RedisServer
  include ServerChild

  attr_reader :port

  def initialize(test, folder, *options)
    @test = test
    @folder = folder
    @options = options
    @port = Godwit::TestSupport::Ports.free
    FileUtils.mkdir_p(folder)
    start
  end

  def start
    command = [EdgePrograms.redis_server, "--port", @port, "--bind", "127.0.0.1", "--save", "",
      "--dir", @folder, "--unixsocket", socket, *@options].map(&:to_s)
    @child = @test.start_command(command, env: EdgePrograms.env(EdgePrograms.redis_server),
      deadline: @test.class.deadline)
    @test.eventually { @test.listens?(@port) }
    self
  end

  def url = "redis://127.0.0.1:#{@port}"

  # @return [String] path of the server's unix socket
  def socket = "#{@folder}/redis.sock"

  # @return [String] what redis-cli prints
  def call(*words)
    cli = EdgePrograms.redis_cli
    Open3.capture2e(EdgePrograms.env(cli), cli, "-p", @port.to_s, *words.map(&:to_s)).first.chomp
  end
end
