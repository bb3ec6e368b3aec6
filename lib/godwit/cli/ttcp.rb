# frozen_string_literal: true

module Godwit
  module CLI
    # `godwit ttcp`: C ttcp in Ruby. A link to the executable with the name `ttcp` runs it, too.
    class Ttcp < Command
      summary "Measures the throughput of TCP, UDP or ZeroMQ between two hosts, as C ttcp does."
      usage "ttcp -t [options] HOST [< input]\n       godwit ttcp -r [options] [> output]"
      notes "Without -s standard output carries the data: all lines go to standard error."

      require_relative "ttcp/report"

      ALIGN = 16_384 # bytes, C ttcp's default
      PORTS = 1..65_535
      MOST = 0x7fff_ffff # the largest int of C
      # Options and their keywords of Godwit::TTCP: for both directions, only for -t, only for -r.
      KEYWORDS = {l: :length, p: :port, u: :udp, b: :socket_buffer, d: :debug, zmq: :zmq}.freeze
      TRANSMIT = {n: :count, D: :nodelay}.freeze
      RECEIVE = {B: :full_blocks, T: :touch}.freeze
      private_constant :ALIGN, :PORTS, :MOST, :KEYWORDS, :TRANSMIT, :RECEIVE

      # @param wrong [Integer] exit status for a wrong command line
      def initialize(wrong: EXIT[:usage])
        @wrong = wrong
        super()
      end

      # (see Command#run)
      def run(arguments, io: $stdout)
        super
      rescue UsageError, OptionParser::ParseError => error
        warn "ttcp: #{error.message}", help_text
        @wrong
      end

      private

      def define(parser)
        require "godwit/ttcp"
        ttcp = Godwit::TTCP
        parser.on("-t", "transmits to HOST")
        parser.on("-r", "receives, from one sender")
        parser.on("-s", "sends a pattern, or discards what comes, instead of standard input and " \
          "output")
        parser.on("-u", "UDP instead of TCP; needs -s")
        parser.on("--zmq", "DEALER and ROUTER of ZeroMQ instead of TCP, at both ends")
        number_option(parser, "-l", "bytes of a buffer (#{ttcp::LENGTH})", 1..MOST)
        number_option(parser, "-n", "buffers to send with -t -s (#{ttcp::COUNT})", 1..)
        number_option(parser, "-p", "port (#{ttcp::PORT})", PORTS)
        parser.on("-D", "sets TCP_NODELAY, with -t")
        parser.on("-B", "reads until a buffer is full, with -r")
        parser.on("-T", "looks at each byte, with -r")
        number_option(parser, "-b", "bytes of the socket's buffer: SO_SNDBUF, SO_RCVBUF", 1..MOST)
        parser.on("-d", "sets SO_DEBUG, which root alone may do")
        number_option(parser, "-A", "alignment of the buffer (#{ALIGN}); printed only", 0..)
        number_option(parser, "-O", "offset of the buffer (0); printed only", 0..)
        parser.on("-f UNIT", "of the rate: k, m, g are bits, K, M, G bytes (K)") do |unit|
          next unit if Report::RATES.key?(unit)
          raise UsageError, "-f #{text(unit)}: one of #{Report::RATES.keys.join(", ")}"
        end
        parser.on("-v", "prints more")
      end

      def number_option(parser, name, about, range)
        parser.on("#{name} N", about) do |given|
          number = Integer(given, 10, exception: false)
          next number if number && range.cover?(number)
          most = range.end ? "to #{range.end}" : "or more"
          raise UsageError, "#{name} #{text(given)}: a number, #{range.begin} #{most}"
        end
      end

      def call(arguments)
        check(arguments)
        @tag = options[:t] ? "ttcp-t" : "ttcp-r"
        @lines = options[:s] ? io : $stderr
        transfer(arguments.first)
      end

      def transfer(host)
        measure(options[:t] ? transmitter(host) : receiver, host)
      rescue Godwit::Error => error
        raise unless error.operation
        complain(words(error))
      rescue SystemCallError => error # standard input or output has failed
        raise if error.is_a?(Errno::EPIPE)
        complain(error.message.sub(/ @ \w+/, ""))
      rescue SocketError => error
        complain("#{host}: #{error.message}")
      end

      def check(arguments)
        raise UsageError, "-t and -r: type one of them" if options[:t] && options[:r]
        raise UsageError, "no direction: type -t or -r" unless options[:t] || options[:r]
        raise UsageError, "-t: no host" if options[:t] && arguments.empty?
        no_arguments(arguments.drop(options[:t] ? 1 : 0))
        raise UsageError, "-u without -s: the data could not end" if options[:u] && !options[:s]
        wrong = options[:zmq] && %i[u d B].find { |name| options[name] }
        raise UsageError, "-#{wrong} with --zmq: it is for sockets of the system" if wrong
      end

      def transmitter(host)
        Godwit::TTCP::Transmitter.new(host, input: options[:s] ? nil : binary($stdin),
          **keywords(TRANSMIT))
      end

      def receiver
        Godwit::TTCP::Receiver.new(output: options[:s] ? nil : binary(io),
          on_refusal: method(:refused), **keywords(RECEIVE))
      end

      def refused(name) = complain("refused a second sender: #{Printable.text(name)}")

      def keywords(more) = options.slice(*{**KEYWORDS, **more}.keys)
        .transform_keys({**KEYWORDS, **more})

      def binary(stream)
        stream.binmode
        stream.sync = true
        stream
      end

      def measure(measurement, host)
        status = EXIT[:ok]
        begin
          print_lines(header(measurement, host))
          measurement.run
        rescue Interrupt
          status = EXIT[:interrupted]
        rescue Errno::EPIPE # the reader of standard output has ended
          status = EXIT[:output_closed]
        end
        finish(measurement.result, status)
      ensure
        measurement.close
      end

      def finish(result, status)
        print_lines(*Report.new(@tag, options.fetch(:f, "K"), options[:v]).summary(result))
        result.error ? complain(words(result.error)) : status
      end

      def header(measurement, host)
        buffers = "buflen=#{measurement.length}, nbuf=#{options.fetch(:n, Godwit::TTCP::COUNT)}"
        align = "align=#{options.fetch(:A, ALIGN)}/#{options.fetch(:O, 0)}"
        size = ", sockbufsize=#{options[:b]}" if options[:b]
        transport = (%i[u zmq] & options.keys).first
        "#{@tag}: #{buffers}, #{align}, port=#{measurement.port}#{size}  " \
          "#{{u: "udp", zmq: "zmq"}.fetch(transport, "tcp")}#{"  -> #{host}" if host}"
      end

      def print_lines(*lines)
        @lines.puts(*lines)
        @lines.flush
      end

      def complain(text)
        warn "#{@tag}: #{text}"
        EXIT[:failed]
      end

      # @return [String] the operation as C ttcp names it, the cause and the peer
      def words(error)
        own = error.is_a?(TimeoutError) || error.is_a?(StateError)
        "#{error.operation}: #{own ? error.message : Errors.words(error.errno)} (#{error.endpoint})"
      end
    end
  end
end
