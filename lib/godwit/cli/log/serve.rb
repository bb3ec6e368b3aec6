# frozen_string_literal: true

require_relative "output"
require_relative "service"

module Godwit
  module CLI
    class Log
      # `godwit log serve`: takes records, writes them to a file, hands them on to those who tail.
      class Serve < Part
        summary "Takes records, writes them to a file, hands them on to `log tail`."
        usage "log serve --in ENDPOINT [--out ENDPOINT] [--file FILE] [options]"

        ROTATIONS = {"daily" => :daily, "weekly" => :weekly, "monthly" => :monthly}.freeze
        # Where records of durable writers join the others, once they are in the file.
        FORWARDED = "inproc://godwit-log-durable"
        private_constant :ROTATIONS, :FORWARDED

        private

        def define(options)
          define_sides(options)
          define_file(options)
          define_bounds(options)
          define_keys(options, server: true)
          options.on("--verbose", "tells who comes and goes, and what is no record") do
            @verbose = true
          end
          options.separator ""
          options.separator "An empty host is 127.0.0.1: to take records from the network say " \
            "tcp://*:7000. SIGTERM and Ctrl-C end it,"
          options.separator "with what was received written; SIGHUP opens the file anew."
          options.separator ""
        end

        def define_sides(options)
          options.on(
            "--in ENDPOINT", "where writers send to (Godwit::Logger.new); any number of times"
          ) { |input| (@in ||= []) << Endpoint.expand(input) }
          options.on("--out ENDPOINT", "where `log tail` listens") do |output|
            @out = Endpoint.expand(output)
          end
          options.on(
            "--control ENDPOINT",
            "where `log stats` and `log tail --last` ask; one port above --out unless told"
          ) { |control| @control = Endpoint.expand(control) }
          options.on("--no-control", "answers nobody") { @no_control = true }
          options.on(
            "--durable-in ENDPOINT", "where writers with `durable:` send to; needs --file"
          ) { |input| @durable_in = Endpoint.expand(input) }
          options.on(
            "--last N", OptionParser::DecimalInteger,
            "how many records it keeps for `log tail --last`; 1000 unless told"
          ) { |count| @last = not_negative(count, "--last") }
        end

        def define_file(options)
          options.on(
            "--file FILE",
            "writes each record as the line that Ruby's Logger writes; - is standard output"
          ) { |path| @file = path }
          options.on(
            "--format FORM", %w[plain json],
            "plain: Ruby's line, without host, writer, number, thread, tags, payload and error;",
            "json: an object on a line, with all of them"
          ) { |form| @form = form.to_sym }
          options.on("--rotate WHEN", "daily, weekly, monthly, or a size: 10M") do |text|
            @rotate = rotation(text)
          end
          options.on(
            "--keep N", OptionParser::DecimalInteger, "keeps so many old files; all unless told"
          ) { |count| @keep = positive(count, "--keep") }
          options.on("--gzip", "packs old files") { @gzip = true }
          options.on("--fsync", "has each batch on the disk before it is acknowledged") do
            @fsync = true
          end
        end

        def define_bounds(options)
          options.on(
            "--max-frame SIZE",
            "what --in takes in one frame (256k); a writer that sends more is disconnected"
          ) { |text| @max_frame = size(text, "--max-frame") }
          options.on(
            "--in-bytes SIZE",
            "what waits of each writer while the file is busy (64M); then the writer waits"
          ) { |text| @in_bytes = size(text, "--in-bytes") }
          options.on(
            "--out-bytes SIZE",
            "what waits for tails that do not read, in frames over 4k (64M); then such records",
            "are skipped, which `log stats` counts"
          ) { |text| @out_bytes = size(text, "--out-bytes") }
          options.on(
            "--answer-bytes SIZE",
            "what waits for one that asks --control and does not read (64M); then it gets",
            "no answer, which `log stats` counts"
          ) { |text| @answer_bytes = size(text, "--answer-bytes") }
        end

        def call(arguments)
          no_arguments(arguments)
          check_choice
          load_library
          Service.new(verbose: @verbose).run { |signals| build(server_security, signals) }
        end

        # @return [Array(Logger::Broadcaster, Logger::Sink, Logger::Receiver)]
        def build(security, signals)
          file = open_file(signals) if @file
          if @durable_in
            receiver =
              Godwit::Logger::Receiver.new(
                @durable_in, file, forward: FORWARDED, **security
              )
          end
          inputs = [*@in, *(FORWARDED if receiver)]
          [
            Godwit::Logger::Broadcaster.new(
              inputs, @out, control: control, last: @last || 1000,
              sink: receiver ? receiver.sink : file,
              on_foreign: (method(:tell_foreign) if @verbose), **bounds, **security
            ),
            file,
            receiver
          ]
        rescue
          receiver&.close
          file.close if file.respond_to?(:close)
          raise
        end

        def bounds
          {
            max_message_size: @max_frame, in_bytes: @in_bytes, out_bytes: @out_bytes,
            answer_bytes: @answer_bytes
          }.compact
        end

        def open_file(signals)
          json = :json if @form == :json
          return Output.new(io, json) { |error| signals << error } if @file == "-"
          Godwit::Logger::Sink.new(
            @file, rotate: @rotate, keep: @keep, gzip: @gzip || false, fsync: @fsync || false,
            format: json
          )
        end

        def control
          return if @no_control
          @control ||
            (
              @out &&
                (
                  next_port(@out) ||
                    @out[%r{\A(?:tcp|wss?)://.*:(?=[*0]\z)}]&.then { |start| "#{start}*" }
                )
            )
        end

        def check_choice
          raise UsageError, "log serve needs --in ENDPOINT" unless @in || @durable_in
          unless @out || @file
            raise UsageError, "log serve needs --out ENDPOINT, --file FILE, or both"
          end
          raise UsageError, "--durable-in needs --file FILE" if @durable_in && !@file
          if @file == "-" && (@durable_in || @rotate || @keep || @gzip || @fsync)
            raise UsageError,
              "--file - is standard output: --durable-in, --rotate, --keep, --gzip and " \
              "--fsync need a file"
          end
          if !@file && (@rotate || @keep || @gzip || @fsync || @form)
            raise UsageError, "--rotate, --keep, --gzip, --fsync and --format need --file FILE"
          end
          raise UsageError, "--keep and --gzip need --rotate" if !@rotate && (@keep || @gzip)
        end

        def rotation(text)
          ROTATIONS.fetch(text) do
            bytes(text) or
              raise UsageError,
                "--rotate takes daily, weekly, monthly, or a size such as 10M (k, M, G): " \
                "got #{text.inspect}"
          end
        end
      end
    end
  end
end
