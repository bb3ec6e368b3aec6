# frozen_string_literal: true

require_relative "../signals"

module Godwit
  module CLI
    class Log
      # `godwit log serve`: receives records, writes them to a file, forwards them to `log tail`.
      class Serve < Subcommand
        summary "Receives records, writes them to a file, forwards them to `log tail`."
        usage "log serve --in ENDPOINT [--out ENDPOINT] [--file FILE] [options]"
        notes <<~TEXT
          An empty host is 127.0.0.1: to take records from the network type tcp://*:7000. SIGTERM
          and Ctrl-C end it after it has written what it received. SIGHUP reopens the file.
        TEXT

        ROTATIONS = {"daily" => :daily, "weekly" => :weekly, "monthly" => :monthly}.freeze
        private_constant :ROTATIONS

        private

        def define(parser)
          define_endpoints(parser)
          define_file(parser)
          define_bounds(parser)
          define_keys(parser, server: true)
          parser.on("--verbose", "prints connections, disconnections and foreign messages")
        end

        def define_endpoints(parser)
          list_option(parser, "--in ENDPOINT", "where writers (Godwit::Logger.new) connect; may be",
            "repeated") { |input| Endpoint.expand(input) }
          endpoint_option(parser, "--out", "where `log tail` connects")
          endpoint_option(parser, "--control",
            "where `log stats` and `log tail --last` ask; default: one port above --out")
          parser.on("--no-control", "opens no control endpoint")
          endpoint_option(parser, "--durable-in", "for writers with `durable:`; needs --file")
          parser.on("--last N", OptionParser::DecimalInteger,
            "records kept for `log tail --last` (1000)") { |count| not_negative(count, "--last") }
        end

        def define_file(parser)
          parser.on("--file FILE",
            "writes each record as the line that Ruby's Logger writes; - is standard output")
          choice_option(parser, "--format FORM", %w[plain json],
            "plain: Ruby's line, without host, writer, number, thread, tags, payload, backtrace;",
            "json: an object on a line, with all of them")
          parser.on("--rotate WHEN", "daily, weekly, monthly, or a size: 10M") { |w| rotation(w) }
          count_option(parser, "--keep", "keeps N old files; default: all")
          parser.on("--gzip", "compresses old files")
          parser.on("--fsync", "has each batch on the disk before it is acknowledged")
        end

        def define_bounds(parser)
          size_option(parser, "--max-frame",
            "the largest frame that --in takes (256k); a writer that sends more is disconnected")
          size_option(parser, "--in-bytes",
            "what may wait of each writer while the file is busy (64M); then the writer waits")
          size_option(parser, "--out-bytes", "what may wait for slow tails, in frames over 4k",
            "(64M); then such records are skipped, which `log stats` counts")
          size_option(parser, "--answer-bytes", "what may wait for a --control client that does",
            "not read (64M); then it gets no answer, which `log stats` counts")
        end

        def call(arguments)
          no_arguments(arguments)
          check_options
          require "godwit"
          endpoints = [*options[:in], *options.values_at(:out, :durable_in).compact, *control]
          security = server_security(*endpoints)
          Signals.queued("INT", "TERM", "HUP") do |signals|
            @signals = signals
            serve(security)
          end
        end

        def serve(security)
          open_broadcaster(security)
          watch if options[:verbose]
          @broadcaster.start
          warn "godwit: #{where}"
          notify("READY=1")
          word = handle_signals
          return EXIT[:failed] unless finish
          Signals.status(word)
        ensure
          finish if @broadcaster && !word
        end

        def open_broadcaster(security)
          @file = open_file if options[:file]
          bounds = options.slice(:last, :in_bytes, :out_bytes, :answer_bytes)
          bounds[:max_message_size] = options[:max_frame] if options[:max_frame]
          @broadcaster = Logger::Broadcaster.new(options[:in], options[:out], control: control,
            durable: options[:durable_in], sink: @file,
            on_foreign: (method(:print_foreign) if options[:verbose]), **bounds, **security)
        rescue
          @file.close if @file.respond_to?(:close)
          raise
        end

        def open_file
          json = :json if options[:format] == "json"
          return Output.new(io, json) { |error| @signals << error } if options[:file] == "-"
          Logger::Sink.new(options[:file],
            format: json, **options.slice(:rotate, :keep, :gzip, :fsync))
        end

        def handle_signals
          watcher = Signals.watch(@broadcaster, @signals, :log, "broadcaster")
          loop do
            case (word = @signals.pop)
            when "HUP" then reopen
            when "INT", "TERM" then return word
            else raise word
            end
          end
        ensure
          watcher.kill
        end

        def reopen
          @file&.reopen
        rescue Error => error
          warn "godwit: #{error.message}; it keeps writing to the old file"
        end

        # @return [Boolean] whether the file has all records that were received
        def finish
          notify("STOPPING=1")
          @broadcaster.close
          statistics = @broadcaster.statistics(writers: 0)
          failed, error = (statistics["sink"] || {}).values_at("failed", "error")
          counts = %i[lost writers foreign].to_h { |name| [name, statistics[name.to_s]] }
          received = statistics["records"] + statistics["plain"]
          line = Logger::Summary.new.line(received: received, **counts)
          more = " · #{Printable.number(failed)} not written" if failed.to_i.positive?
          warn "#{line}#{more}"
          error.nil?
        end

        def where
          {
            "in" => @broadcaster.input, "durable in" => @broadcaster.durable,
            "out" => @broadcaster.output, "control" => @broadcaster.control,
            "file" => [*@file&.path]
          }.filter_map { |name, paths| "#{name} #{paths.join(" ")}" if paths.any? }.join(", ")
        end

        def watch
          @broadcaster.on_event(:handshake_succeeded, :handshake_failed_protocol,
            :handshake_failed_auth, :handshake_failed_no_detail, :disconnected) do |event|
            warn "godwit: #{event}"
          end
        end

        # Reports the state to systemd, for units with Type=notify.
        def notify(state)
          path = ENV["NOTIFY_SOCKET"].to_s
          return if path.empty?
          ::Socket.open(:UNIX, :DGRAM) do |socket|
            socket.send(state, 0, ::Socket.sockaddr_un(path.sub(/\A@/, "\0")))
          end
        rescue SystemCallError => error
          warn "godwit: systemd was not notified: #{error.message}"
        end

        def control
          out = options[:out]
          return if options.key?(:no_control)
          return options[:control] if options[:control] || out.nil?
          next_port(out) || out[%r{\A(?:tcp|wss?)://.*:(?=[*0]\z)}]&.then { |start| "#{start}*" }
        end

        def check_options
          file = options[:file]
          raise UsageError, "log serve needs --in ENDPOINT" unless any?(:in, :durable_in)
          raise UsageError, "log serve needs --out ENDPOINT or --file FILE" unless any?(:out, :file)
          raise UsageError, "--durable-in needs --file FILE" if any?(:durable_in) && !file
          if file == "-" && any?(:durable_in, :rotate, :keep, :gzip, :fsync)
            raise UsageError, "--file - is standard output: --durable-in, --rotate, --keep, " \
              "--gzip and --fsync need a file"
          end
          if !file && any?(:rotate, :keep, :gzip, :fsync, :format)
            raise UsageError, "--rotate, --keep, --gzip, --fsync and --format need --file FILE"
          end
          return if any?(:rotate)
          raise UsageError, "--keep and --gzip need --rotate" if any?(:keep, :gzip)
        end

        def any?(*names) = options.values_at(*names).any?

        def rotation(text)
          ROTATIONS[text] || bytes(text) or
            raise UsageError, "--rotate takes daily, weekly, monthly, or a size such as 10M " \
              "(k, M, G): got #{text.inspect}"
        end
      end

      # Standard output as a broadcaster's sink, for `log serve --file -`.
      # @private
      class Output
        PIPE_BUF = 4096 # bytes: a write of at most this size to a pipe is atomic

        # @yield when the reader of the output has closed the pipe
        def initialize(io, form = nil, &closed)
          require_relative "../../logger"
          @io = io
          @form = form
          @closed = closed
          @terminal = io.tty?
          @written = 0
        end

        attr_reader :written
        # Most seconds of a close: a blocked pipe must not delay the process's exit.
        def close_timeout = 0.4
        def path = "standard output"

        def write(records)
          lines = records.map { |record| line(record) }
          index = 0
          while index < lines.size
            count, bytes = Logger.const_get(:Lines).chunk(lines, index, PIPE_BUF)
            text = lines[index, count].join
            index += count
            done = 0
            # syswrite writes at once: no line stays in Ruby's buffer.
            done += @io.syswrite(text.byteslice(done..)) while done < bytes
            @written += count
          end
        rescue Errno::EPIPE => error
          @closed.call(error)
          raise
        end

        # Standard output has no path to reopen.
        def reopen = nil

        private

        # A terminal gets escaped text. If `to_s` or `to_json` raises, `inspect` is printed.
        def line(record)
          text = (@form == :json) ? "#{record.to_json}\n" : record.to_s
          (@terminal ? Logger::View.escape(text.scrub, lines: true) : text).b
        rescue
          "#{record.inspect}\n".b
        end
      end
    end
  end
end
