# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # `godwit log tail`: shows records as they come.
      class Tail < Subcommand
        summary "Shows the chosen records as they come."
        usage "log tail ENDPOINT [options]"
        notes <<~TEXT
          ENDPOINT is the --out of `log serve`. --prog, --host, --tag and --grep may be
          repeated: one of each must match. At its end it prints on standard error how many
          records came and how many were lost. `log stats` and this command count
            LATE     a record that came again, or after a later one (it is no longer lost)
            plain    a line of Ruby's own Logger
            foreign  all other messages
            sent     what `log serve` has handed on to tails
        TEXT

        COLOR = %w[auto always never].freeze # the words that --color accepts
        CHOICES = %i[level prog host tag].freeze # filters that the broadcaster applies too
        private_constant :CHOICES

        private

        def define(parser)
          define_choice(parser)
          define_view(parser)
          count_option(parser, "--last", "first shows the last N records that `log serve` keeps")
          endpoint_option(parser, "--control", "for --last; default: one port above ENDPOINT")
          parser.on("--bind", "binds ENDPOINT: writers send here, without a `log serve`")
          parser.on("--state FILE", "with --bind: keeps the writers' statistics for the next run,",
            "so that records sent in between count as lost")
          size_option(parser, "--queue-bytes", "what may wait here when records come faster than",
            "they are shown (32M); then the writers with the most lose some")
          count_option(parser, "--count", "ends after N records were shown")
          timeout_option(parser)
          parser.on("--stats", "prints statistics each second on standard error")
          parser.on("--verbose", "prints foreign messages too, on standard error")
          define_keys(parser)
          define_quiet(parser)
        end

        def define_choice(parser)
          list_option(parser, "--level LEVEL", "error, warn+ (and above), debug,error+")
          list_option(parser, "--prog NAME", "of this program")
          list_option(parser, "--host NAME", "of this machine")
          list_option(parser, "--tag TAG", "that have this tag")
          list_option(parser, "--grep REGEXP",
            "whose tags, text, error or payload match; shown inverse") do |text|
            regexp("--grep", text)
          end
          list_option(parser, "--exclude REGEXP", "that do not match") do |text|
            regexp("--exclude", text)
          end
        end

        def define_view(parser)
          parser.on("--backtrace", "shows the backtrace and the causes of an error too")
          parser.on("--json", "one JSON object a line") { options[:format] = :json }
          parser.on("--format FORMAT", "such as '%{date} %{time} %-5<level>s %{message}'; " \
            "docs/cli.md names the fields") { |format| text(format) }
          choice_option(parser, "--color WHEN", COLOR,
            "auto (on a terminal, without NO_COLOR), always, never")
        end

        def regexp(option, given) = check(option) { Regexp.new(text(given)) }

        # Turns an argument error of the library into a usage error.
        def check(option)
          yield
        rescue ArgumentError, RegexpError => error
          raise UsageError, "#{option}: #{CLI.words_of(error)}"
        end

        def call(arguments)
          source = only_endpoint(arguments)
          check_bind
          require "godwit"
          choice = options.slice(*CHOICES, :grep, :exclude)
          @filter = check("--level") { Logger::Filter.new(**choice) }
          settings = {color: color?, highlight: @filter.grep, **options.slice(:format, :backtrace)}
          @view = check("--format") { Logger::View.new(**settings) }
          @reader = reader_at(source)
          @reader.on_foreign { |message| print_foreign(message) } if options[:verbose]
          @summary = Logger::Summary.new(host: ::Socket.gethostname)
          return follow if options[:bind]
          telling(SUB, source) { follow(options[:last] ? last_records(source) : []) }
        ensure
          @reader&.close
        end

        def check_bind
          wrong = options[:bind] ? %i[last control queue_bytes] : %i[state]
          name = wrong.find { |one| options[one] } or return
          not_bind = "not " if options[:bind]
          raise UsageError, "--#{name.to_s.tr("_", "-")} is #{not_bind}for --bind"
        end

        def reader_at(source)
          if options[:bind]
            Logger::Reader.new(source, **options.slice(:state), **server_security(source))
          else
            choice = options.slice(*CHOICES, :queue_bytes)
            Logger::Reader.subscribe(source, **choice, **client_security(source))
          end
        end

        def last_records(source)
          control = options[:control] || next_port(source) or
            raise UsageError, "--last needs --control ENDPOINT where #{source} has no port"
          seconds = [ANSWER_TIMEOUT, options[:timeout]].compact.min
          with_control(control, seconds) do |broadcaster|
            @reader.wait_connected(timeout: seconds) # first, so that no later record is missed
            broadcaster.last(options[:last], **options.slice(*CHOICES))
          end
        end

        def color?
          color = options.fetch(:color, "auto")
          return color == "always" unless color == "auto"
          io.tty? && ENV["NO_COLOR"].to_s.empty? && ENV["TERM"] != "dumb"
        end

        # Shows records until --count or --timeout is reached.
        # @param last [Array<Logger::Record>] shown first, and skipped if received again
        def follow(last = [])
          @remaining, timeout = options.values_at(:count, :timeout)
          @finish = timeout && Timeout.now + timeout
          @stats_at = Timeout.now + 1 if options[:stats]
          @shown = last.reject(&:plain?).to_h { |record| [record.writer, record.seq] }
          last.each { |record| show(record) }
          show_next until done? || late?
          io.flush
          print_summary
          done? ? EXIT[:ok] : EXIT[:timed_out]
        rescue SignalException
          print_summary
          raise
        end

        def done? = @remaining&.zero?
        def late? = @finish && Timeout.now >= @finish

        # Flushes the output before it waits for a record.
        def show_next
          record = @reader.recv(timeout: 0, exception: false)
          unless record
            io.flush
            record = @reader.recv(timeout: Timeout.until([@finish, @stats_at].compact.min),
              exception: false)
          end
          if record
            @summary << record
            show(record) unless shown?(record)
          end
          return unless @stats_at && Timeout.now >= @stats_at
          print_summary
          @stats_at += 1
        end

        def shown?(record)
          last = @shown[record.writer] if @shown.any? && !record.plain?
          last && record.seq <= last
        end

        def show(record)
          return if done? || !@filter.fits?(record)
          io.write(@view.line(record))
          @remaining -= 1 if @remaining
        end

        def print_summary
          warn @summary.line(received: @reader.received, lost: @reader.lost,
            writers: @reader.writers.size, foreign: @reader.foreign)
        end
      end
    end
  end
end
