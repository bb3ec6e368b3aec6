# frozen_string_literal: true

require "godwit/cli/signals"
require_relative "status_line"

module Godwit
  module Work
    module CLI
      # `godwit-work run`: runs the consumers of Ruby files.
      class Run < Command
        summary "Runs the consumers that Ruby files define."
        usage "run FILE... [options]"
        notes <<~TEXT
          The files connect to the log, or GODWIT_WORK_URL names it. It is created at first use,
          as are the topics of the classes; other commands create nothing. INT or TERM lets
          running handlers finish; a second one ends the process at once. TSTP: takes no new
          records. On a terminal a line shows rates and lag, each second. Standard error has a
          line for each failed attempt and each dead letter, unless the files listen to `failed`
          or `dead`.
        TEXT

        SIGNALS = %w[INT TERM TSTP].freeze
        private_constant :SIGNALS

        private

        def define(parser)
          require "godwit/work"
          count_option(parser, "--workers", "threads that run handlers (5)")
          seconds_option(parser, "--drain", "how long running handlers may take at the end (25)")
          seconds_option(parser, "--evict-after", "evicts processes that do not report (never)")
          parser.on("--rebalance-log FILE", "adds a line for each partition that comes or goes")
        end

        def call(files)
          raise missing("file") if files.empty?
          files.each { |file| load_file(file) }
          classes = Consumer.classes
          if classes.empty?
            raise Godwit::CLI::UsageError, "#{files.join(", ")}: no class of Godwit::Work::Consumer"
          end
          run_classes(classes)
        end

        def load_file(file)
          load(File.expand_path(file))
        rescue LoadError => error
          raise unless error.path == File.expand_path(file)
          raise Godwit::CLI::UsageError, "#{file}: no such file"
        end

        def run_classes(classes)
          runner = Runner.new(classes, **options.slice(:workers, :drain, :evict_after))
          tell_failures
          log_moves(options[:rebalance_log]) if options[:rebalance_log]
          Godwit::CLI::Signals.queued(*SIGNALS) do |signals|
            obeying = Thread.new { obey(runner, signals) }
            names = classes.map(&:name).join(", ")
            io.puts "runs #{names}"
            io.flush
            watch(runner, classes) { runner.run }
            obeying.kill.join
            Godwit::CLI::Signals.status(@ending)
          end
        end

        def tell_failures
          %i[failed dead].each do |name|
            Work.on(name) { |event| warn line(event) } unless Work.client.events.listener?(name)
          end
          %i[silent evicted].each do |name|
            Work.on(name) { |event| warn silence(event) } unless Work.client.events.listener?(name)
          end
        end

        # Appends each event `moved`, a change of a partition's owner, to a file. Each line is one
        # write, so that processes may share the file.
        def log_moves(path)
          require "time"
          file = File.open(path, "a")
          Work.on(:moved) do |event|
            what, group, topic, partition, offset = event.values.values
            file.syswrite("#{Time.now.utc.iso8601(3)} #{Process.pid} #{what} #{group} #{topic} " \
              "#{partition} at #{offset}\n")
          end
        end

        def silence(event)
          Printable.line "#{event.name}: process #{event[:process]} on #{event[:host]}, " \
            "member #{event[:member]} of group #{event[:group]}, has not reported for " \
            "#{event[:seconds]} s#{": `#{event[:command]}`" if event.name == :silent}"
        end

        def line(event)
          message, error = event[:message], event[:error]
          Printable.line "#{event.name}: #{message.topic} " \
            "#{message.partition}/#{message.offset}, attempt #{event[:attempts]}: " \
            "#{error.class}: #{DeadLetter.message_of(error).lines.first&.chomp}, " \
            "#{error.backtrace&.first}"
        end

        # Prints a status line each second, if the output is a terminal.
        def watch(runner, classes, &running)
          return yield unless io.tty?
          groups = classes.map { |klass| [klass.group_name, klass.settings.topic] }
          StatusLine.new(runner, Work.client, groups, io).during(&running)
        end

        # Stops the runner at the first INT or TERM. A second signal ends the process.
        def obey(runner, signals)
          while (name = signals.pop)
            next runner.quiet if name == "TSTP"
            exit!(Godwit::CLI::EXIT[:failed]) if @ending
            @ending = name
            runner.stop
            io.puts "stops when the running handlers have finished"
            io.flush
          end
        end
      end
    end
  end
end
