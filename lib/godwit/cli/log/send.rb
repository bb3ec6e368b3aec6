# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # `godwit log send`: sends records from a shell.
      class Send < Subcommand
        summary "Sends a record, or each line of standard input as one."
        usage "log send ENDPOINT [options] [MESSAGE…]"
        notes <<~TEXT
          Without MESSAGE it reads standard input, as fast as the other side takes it. The
          status is #{EXIT[:failed]} when a record could not be handed over.
        TEXT

        LEVELS = %w[debug info warn error fatal unknown].freeze # the words that --level accepts
        # Values of --payload that are sent as a number, true, false or null. All others are texts.
        LITERAL = /\A(?:-?(?:0|[1-9]\d*)(?:\.\d+)?|true|false|null)\z/
        # The most bytes of a record. A longer line is sent as several records, so that it does not
        # fill the memory.
        LONGEST_LINE = 1 << 20
        private_constant :LITERAL, :LONGEST_LINE

        private

        def define(parser)
          choice_option(parser, "--level LEVEL", LEVELS, "#{LEVELS.join(", ")} (info)")
          parser.on("--prog NAME", "the program; default: the user's name") { |name| text(name) }
          parser.on("--host NAME", "the host; default: this machine's name") { |name| text(name) }
          list_option(parser, "--tag TAG", "may be repeated") { |tag| text(tag) }
          list_option(parser, "--payload KEY=VALUE", "may be repeated; numbers, true, false and " \
            "null are what they are in JSON") { |pair| payload(text(pair)) }
          seconds_option(parser, "--timeout", "how long the other side may delay the records (5)")
          parser.on("--durable DIR", "keeps them in DIR until `log serve --durable-in` wrote them")
          define_keys(parser, clients: false)
          define_quiet(parser)
        end

        def call(arguments)
          target = endpoint(arguments)
          require "godwit"
          @timeout = options.fetch(:timeout, ANSWER_TIMEOUT)
          log = Logger.new(target, level: 0,
            progname: options[:prog] || ENV["USER"] || "shell", linger: @timeout, overflow: :block,
            block_timeout: @timeout, **options.slice(:host, :durable),
            **client_security(target))
          telling(options[:durable] ? DEALER : PUSH, target) do
            log.tagged(*options[:tag]) { write(log, arguments.drop(1)) }
            log.close # `close` prints the number of unsent records
          end
          stats = log.stats
          # A durable writer's last error does not matter once all records are acknowledged.
          sent = (stats.dropped + stats.queued).zero? && (options[:durable] || !stats.last_error)
          sent ? EXIT[:ok] : EXIT[:failed]
        ensure
          log&.close
        end

        def write(log, words)
          level = options.fetch(:level, "info")
          payload = options.fetch(:payload, []).to_h
          if words.any?
            return log.public_send(level, words.map { |word| text(word) }.join(" "), **payload)
          end
          $stdin.each_line(LONGEST_LINE, chomp: true) do |line|
            log.public_send(level, line, **payload)
            next unless log.stats.dropped.positive?
            warn "godwit: no record was taken for #{@timeout} s; the rest of the input is not read"
            break
          end
        end

        def payload(pair)
          key, value = pair.split("=", 2)
          raise UsageError, "--payload takes KEY=VALUE: got #{pair.inspect}" if !value || key.empty?
          require "json"
          [key.to_sym, value.match?(LITERAL) ? JSON.parse(value) : value]
        end
      end
    end
  end
end
