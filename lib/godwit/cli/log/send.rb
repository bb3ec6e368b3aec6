# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # `godwit log send`: records from a shell.
      class Send < Part
        summary "Sends a record, or each line of standard input as one."
        usage "log send ENDPOINT [options] [MESSAGE…]"

        # What --level takes.
        LEVELS = %w[debug info warn error fatal unknown].freeze
        # What a value of --payload is when it is no text.
        LITERAL = /\A(?:-?(?:0|[1-9]\d*)(?:\.\d+)?|true|false|null)\z/
        # A line without end is no reason to fill the memory.
        LONGEST_LINE = 1 << 20
        private_constant :LITERAL, :LONGEST_LINE

        private

        def define(options)
          @level = "info"
          @tags = []
          @payload = {}
          @patience = 5
          options.on("--level LEVEL", "#{LEVELS.join(", ")}; info unless told") do |level|
            @level = known_level(level.downcase)
          end
          options.on("--prog NAME", "the record's program; the user's name unless told") do |name|
            @prog = text(name)
          end
          options.on("--host NAME", "the record's host; this machine's name unless told") do |name|
            @host = text(name)
          end
          options.on("--tag TAG", "any number of times") { |tag| @tags << text(tag) }
          options.on(
            "--payload KEY=VALUE",
            "any number of times; numbers, true, false and null are what they are in JSON"
          ) { |pair| add_payload(text(pair)) }
          options.on(
            "--timeout SECONDS", Float,
            "how long the other side may make the records wait; 5 unless told"
          ) { |seconds| @patience = not_negative(seconds, "--timeout") }
          options.on(
            "--durable DIR", "keeps them in DIR until `log serve --durable-in` has written them"
          ) { |dir| @durable = dir }
          define_keys(options, clients: false)
          options.separator ""
          options.separator "Without MESSAGE it reads standard input, as fast as the other side " \
            "takes it. The status is"
          options.separator "#{EXIT[:failed]} when a record could not be handed over."
          options.separator ""
        end

        def call(arguments)
          target = endpoint(arguments.first(1))
          load_library
          log =
            Godwit::Logger.new(
              target, level: 0, progname: @prog || ENV["USER"] || "shell", linger: @patience,
              **settings
            )
          log.tagged(*@tags) { write(log, arguments.drop(1)) }
          log.close # which tells what could not be sent
          all_sent?(log.stats) ? EXIT[:ok] : EXIT[:failed]
        ensure
          log&.close
        end

        # What a durable writer had to say does not matter once all is acknowledged.
        def all_sent?(stats)
          stats.dropped.zero? && stats.queued.zero? && (@durable || stats.last_error.nil?)
        end

        def known_level(level)
          unless LEVELS.include?(level)
            raise UsageError, "--level takes #{LEVELS.join(", ")}: got #{level.inspect}"
          end
          level
        end

        def settings
          {
            overflow: :block, block_timeout: @patience, host: @host, durable: @durable,
            **client_security
          }.compact
        end

        def write(log, words)
          if words.any?
            return log.public_send(@level, words.map { |word| text(word) }.join(" "), **@payload)
          end
          $stdin.each_line(LONGEST_LINE, chomp: true) do |line|
            log.public_send(@level, line, **@payload)
            if log.stats.dropped.positive?
              break(
                warn(
                  "godwit: nothing was taken for #{@patience} s, so the rest of the input is not " \
                  "read"
                )
              )
            end
          end
        end

        def add_payload(pair)
          key, equal, value = pair.partition("=")
          if equal.empty? || key.empty?
            raise UsageError, "--payload takes KEY=VALUE: got #{pair.inspect}"
          end
          require "json"
          @payload[key.to_sym] = value.match?(LITERAL) ? JSON.parse(value) : value
        end
      end
    end
  end
end
