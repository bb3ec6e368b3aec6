# frozen_string_literal: true

module Godwit
  module CLI
    class Perf
      # libzmq's perf tools, such as `godwit perf local_lat`, with their arguments, usage lines and
      # standard output, and ffi-rzmq's examples `local_lat_zerocopy` and `remote_lat_zerocopy`.
      class Tool < Subcommand
        summary "libzmq's perf tools: the same arguments, the same output."
        usage "perf local_lat|remote_lat|local_thr|remote_thr|inproc_lat|inproc_thr ARGUMENTS"
        notes <<~TEXT
          It works with libzmq's own programs. A failure has status 1. Latencies are half of the
          round-trip time; `godwit perf lat` prints the whole. <enable_curve> is 1 or 0: with 1
          both ends use CURVE, with the test keys in libzmq's sources.
        TEXT

        # A tool: its arguments, its method of Perf::Exchange (inproc: two), its output, keywords.
        Form = Struct.new(:arguments, :exchange, :output, :options) do
          def inproc? = exchange.is_a?(Array)
          def words = arguments.split
          def counts = (words.grep(/\A</).size..words.size)
        end

        LAT = "<message-size> <roundtrip-count>"
        THR = "<message-size> <message-count>"
        CURVE = "[<enable_curve>]"
        LATENCY = <<~TEXT
          message size: %<size>d [B]
          roundtrip count: %<count>d
          average latency: %<latency>.3f [us]
        TEXT
        THROUGHPUT = <<~TEXT
          message size: %<size>d [B]
          message count: %<count>d
          mean throughput: %<rate>d [msg/s]
          mean throughput: %<megabits>.3f [Mb/s]
        TEXT
        FFI_RZMQ_LATENCY = <<~TEXT
          message size: %<size>d [B]
          roundtrip count: %<count>d
          throughput (msgs/s): %<rate>d
          mean latency: %<latency>.3f [us]
        TEXT
        FRAMES = {frames: true}.freeze
        MOST = 0x7fff_ffff # the largest int of C

        # The form of each tool.
        TOOLS = {
          "local_lat" => Form.new("<bind-to> #{LAT}", :echo),
          "remote_lat" => Form.new("<connect-to> #{LAT}", :round_trips, LATENCY),
          "local_thr" => Form.new("<bind-to> #{THR} #{CURVE}", :receive, THROUGHPUT),
          "remote_thr" => Form.new("<connect-to> #{THR} #{CURVE}", :push),
          "inproc_lat" => Form.new(LAT, %i[round_trips echo], LATENCY),
          "inproc_thr" => Form.new(THR, %i[receive push], THROUGHPUT),
          "local_lat_zerocopy" => Form.new("<connect-to> #{LAT}", :echo, nil, FRAMES),
          "remote_lat_zerocopy" =>
            Form.new("<connect-to> #{LAT}", :round_trips, FFI_RZMQ_LATENCY, FRAMES)
        }.freeze

        # Public and secret key of each end: the test keys in libzmq's sources, which are no secret.
        SERVER = [
          "DX4nh=yUn{-9ugra0X3Src4SU-4xTgqxcYY.+<SH", "{X}#>t#jRGaQ}gMhv=30r(Mw+87YGs+5%kh=i@f8"
        ].freeze
        CLIENT = [
          "<n^oA}I:66W+*ds3tAmi1+KJzv-}k&fC2aA5Bj0K", "9R9bV}[6z6DC-%$!jTVTKvWc=LEL{4i4gzUe$@Zx"
        ].freeze
        private_constant :Form, :LAT, :THR, :CURVE, :LATENCY, :THROUGHPUT, :FFI_RZMQ_LATENCY,
          :FRAMES, :MOST, :SERVER, :CLIENT

        # @param name [String] one of {TOOLS}
        def initialize(name)
          super()
          @name = name
          @form = TOOLS.fetch(name)
        end

        # (see Command#run)
        def run(arguments, io: $stdout)
          require "godwit/perf"
          super
        rescue Godwit::Perf::Exchange::SizeError => error
          io.puts error.message
          EXIT[:failed]
        rescue UsageError, OptionParser::ParseError, Error => error
          warn "godwit: #{CLI.words_of(error)}"
          EXIT[:failed]
        end

        private

        def parser
          super.tap { |text| text.banner = "usage: godwit perf #{@name} #{@form.arguments}" }
        end

        def call(arguments)
          unless @form.counts.cover?(arguments.size)
            io.puts "usage: #{@name} #{@form.arguments}"
            return EXIT[:failed]
          end
          size_text, count_text, curve = @form.inproc? ? arguments : arguments.drop(1)
          size, count = number(size_text, "a size", 0), number(count_text, "a count", 1)
          print_figures(size, count, exchange(arguments, size, count, curve))
          EXIT[:ok]
        end

        # libzmq's perf tools would read "1k" as 1, so a unit is refused.
        def number(text, name, least)
          found = Integer(text, 10) if text.match?(/\A\d+\z/)
          return found if found&.between?(least, MOST)
          wrong(text, "#{name} is a number without a unit, #{least} to #{MOST}")
        end

        def exchange(arguments, size, count, curve)
          exchanges = Godwit::Perf::Exchange
          return exchanges.inproc(*@form.exchange, size, count) if @form.inproc?
          exchanges.public_send(@form.exchange, endpoint(arguments), size, count,
            **@form.options.to_h, **curve_options(curve))
        end

        def curve_options(text)
          return {} if text.nil? || text == "0"
          wrong(text, "<enable_curve> is 1 or 0") unless text == "1"
          server, client = [SERVER, CLIENT].map do |public_key, secret_key|
            Curve::Keypair.new(public_key: public_key, secret_key: secret_key)
          end
          return {curve: server} if @form.exchange == :receive
          {curve: client, server_key: server.public_key}
        end

        def print_figures(size, count, seconds)
          return unless @form.output
          rate = count / [seconds, 1e-6].max
          io.print format(@form.output, size: size, count: count, rate: rate,
            latency: seconds * 1e6 / (2 * count), megabits: rate * size * 8 / 1e6)
          return unless @form.output.include?("latency")
          warn "godwit: the latency is half of the round-trip time"
        end
      end
    end
  end
end
