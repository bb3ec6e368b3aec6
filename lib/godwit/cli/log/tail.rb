# frozen_string_literal: true

require_relative "follow"

module Godwit
  module CLI
    class Log
      # `godwit log tail`: shows records as they come.
      class Tail < Part
        summary "Shows records as they come, those that one asks for."
        usage "log tail ENDPOINT [options]"

        # What --color takes.
        COLOR = %w[auto always never].freeze
        PATIENCE = 5 # seconds for an answer
        private_constant :PATIENCE

        private

        def define(options)
          @choice = Hash.new { |choice, name| choice[name] = [] }
          @color = "auto"
          define_choice(options)
          define_view(options)
          options.on(
            "--last N", OptionParser::DecimalInteger, "first the last N that `log serve` keeps"
          ) { |count| @last = positive(count, "--last") }
          options.on(
            "--control ENDPOINT", "where --last asks; one port above ENDPOINT unless told"
          ) { |control| @control = Endpoint.expand(control) }
          options.on("--bind", "binds ENDPOINT: writers send here, without a `log serve`") do
            @bind = true
          end
          options.on(
            "--state FILE",
            "with --bind: keeps the accounts from one run to the next, so that what came in " \
            "between is known as lost"
          ) { |path| @state = path }
          options.on(
            "--queue-bytes SIZE",
            "what waits here when records come faster than they are shown (32M); then the",
            "writers with most of it lose some"
          ) { |text| @queue_bytes = size(text, "--queue-bytes") }
          options.on(
            "--count N", OptionParser::DecimalInteger, "ends after so many were shown"
          ) { |count| @count = positive(count, "--count") }
          options.on(
            "--timeout SECONDS", Float, "ends after this time, with status #{EXIT[:timed_out]}"
          ) { |seconds| @timeout = not_negative(seconds, "--timeout") }
          options.on("--stats", "tells each second on standard error what came") { @stats = true }
          options.on("--verbose", "shows what is no record too, on standard error") do
            @verbose = true
          end
          define_keys(options)
          options.separator ""
          options.separator "ENDPOINT is where `log serve` has its --out. Of --prog, --host, " \
            "--tag and --grep there may be several:"
          options.separator "one of each must fit. At its end it tells on standard error how " \
            "many came and how many were lost. `log stats` and"
          options.separator "this say LATE of a record that came again, or after a later one " \
            "(which is lost no more); plain of a line that is no record, as Ruby's own"
          options.separator "Logger writes it; foreign of what is neither; sent of what `log " \
            "serve` has handed on to those that tail."
          options.separator ""
        end

        def define_choice(options)
          options.on("--level LEVEL", "error, warn+ (and above), debug,error+") do |level|
            @choice[:level] << level
          end
          options.on("--prog NAME", "of this program") { |name| @choice[:prog] << name }
          options.on("--host NAME", "of this machine") { |name| @choice[:host] << name }
          options.on("--tag TAG", "that have this tag") { |tag| @choice[:tag] << tag }
          options.on("--grep REGEXP", "whose tags, text or payload match; shown inverse") do |text|
            @choice[:grep] << pattern("--grep", text)
          end
          options.on("--exclude REGEXP", "that do not match") do |text|
            @choice[:exclude] << pattern("--exclude", text)
          end
        end

        def define_view(options)
          options.on("--json", "one JSON object a line") { @format = :json }
          options.on(
            "--format FORMAT",
            "such as '%{date} %{time} %-5<level>s %{message}'; docs/cli.md names the fields"
          ) { |given| @format = text(given) }
          options.on(
            "--color WHEN", COLOR, "auto (on a terminal, unless NO_COLOR is set), always, never"
          ) { |word| @color = word }
        end

        def pattern(option, given) = check(option) { Regexp.new(text(given)) }

        def call(arguments)
          source = endpoint(arguments)
          if @bind && (@last || @control)
            raise UsageError, "--last and --control are for what `log serve` keeps, not for --bind"
          end
          raise UsageError, "--state is for --bind" if @state && !@bind
          if @bind && @queue_bytes
            raise UsageError, "--queue-bytes is not for --bind: there writers wait"
          end
          load_library
          filter = check("--level") { Godwit::Logger::Filter.new(**@choice) }
          view =
            check("--format") do
              Godwit::Logger::View.new(format: @format, color: color?, highlight: filter.grep)
            end
          reader = reader_at(source)
          reader.on_foreign { |message| tell_foreign(message) } if @verbose
          last = @last ? last_records(reader, source) : []
          Follow.new(reader, filter, view, io, count: @count, timeout: @timeout, stats: @stats).run(
            last
          )
        ensure
          reader&.close
        end

        def reader_at(source)
          return Godwit::Logger::Reader.new(source, state: @state, **server_security) if @bind
          bounds = {queue_bytes: @queue_bytes}.compact
          choice = @choice.slice(:level, :prog, :host, :tag)
          Godwit::Logger::Reader.subscribe(source, **choice, **bounds, **client_security)
        end

        def last_records(reader, source)
          control = @control || next_port(source) or
            raise UsageError, "--last needs --control ENDPOINT where #{source} has no port"
          seconds = [PATIENCE, @timeout].compact.min
          ask(control, seconds, told: seconds == @timeout) do |asked|
            reader.wait_connected(timeout: seconds) # from here on nothing is missed
            asked.last(@last, **@choice.slice(:level, :prog, :host, :tag))
          end
        end

        def color?
          return @color == "always" unless @color == "auto"
          io.tty? && ENV["NO_COLOR"].to_s.empty? && ENV["TERM"] != "dumb"
        end
      end
    end
  end
end
