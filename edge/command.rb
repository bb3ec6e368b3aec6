# frozen_string_literal: true

require "socket"
require_relative "command/configuration"
require_relative "command/nginx"
require_relative "command/options"

# The command godwit-edge: an application of the edge in an nginx of its own. It needs no gem.
module GodwitEdge
  # What keeps the application from running; the message is one line or more for the user.
  class Failure < StandardError; end

  # Parses the command line, and does what it asks for.
  class Command
    # @param arguments [Array<String>]
    # @return [Integer] the exit status: 2 after wrong usage
    def self.run(arguments)
      options = Options.parse(arguments)
      options ? new(options).run : 0
    rescue OptionParser::ParseError => error
      warn "godwit-edge: #{error.message}"
      2
    rescue Failure => error
      warn "godwit-edge: #{error.message}"
      1
    end

    def initialize(options)
      @options = options
      @nginx = Nginx.find
      @configuration = Configuration.new(options, @nginx.module)
    end

    # @return [Integer]
    def run = __send__(@options.action)

    private

    def print_config
      puts @configuration.lines
      0
    end

    def check
      well = @nginx.check { |prefix| @configuration.check(prefix) }
      puts "godwit-edge: #{@options.app} has run without an error" if well
      well ? 0 : 1
    end

    def test
      well = @nginx.check { |prefix| @configuration.test(prefix) }
      well ? 0 : 1
    end

    def serve
      listenable
      @nginx.serve(->(prefix) { @configuration.server(prefix) }) do |pid|
        url = "http://127.0.0.1:#{@options.port}#{@options.mount}"
        puts "godwit-edge: #{@options.app} at #{url} (#{pid})"
        $stdout.flush
      end
    end

    # nginx tries for several seconds to listen, and logs each try.
    def listenable
      TCPServer.new("127.0.0.1", @options.port).close
    rescue Errno::EADDRINUSE
      raise Failure, "-p #{@options.port}: the port is in use"
    rescue SystemCallError => error
      raise Failure, "-p #{@options.port}: #{error.message}"
    end
  end
end
