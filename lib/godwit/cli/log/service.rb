# frozen_string_literal: true

module Godwit
  module CLI
    class Log
      # A broadcaster and its file as a process: says where it listens, obeys signals, ends with
      # what was received written.
      # @private
      class Service
        SIGNALS = %w[INT TERM HUP].freeze

        # @param verbose [Boolean] whether to tell who comes and goes
        def initialize(verbose: false)
          @verbose = verbose
          @signals = Thread::Queue.new # a trap handler may push to it
        end

        # @yieldparam signals [Thread::Queue] takes an error that ends it
        # @yieldreturn [Array(Logger::Broadcaster, Logger::Sink, Logger::Receiver)] the last two may
        #   be nil
        # @return [Integer] exit status
        def run
          before = SIGNALS.to_h { |name| [name, trap(name) { @signals << name }] }
          @broadcaster, @file, @receiver = yield @signals
          watch if @verbose
          @broadcaster.start
          tell("godwit: #{where}", "READY=1")
          word = obey
          return EXIT[:failed] unless finish
          (word == "INT") ? EXIT[:interrupted] : EXIT[:ok]
        ensure
          finish if @broadcaster && !word
          before&.each { |name, handler| trap(name, handler || "DEFAULT") }
        end

        private

        def obey
          waiter = Thread.new { wait }
          loop do
            case (word = @signals.pop)
            when "HUP" then reopen
            when "INT", "TERM" then return word
            else raise word
            end
          end
        ensure
          waiter.kill
        end

        # It ends by itself only when something is wrong.
        def wait
          @broadcaster.wait
          @signals << StateError.new("the broadcaster has ended", operation: :log)
        rescue => error
          @signals << error
        end

        def reopen
          @file&.reopen
        rescue Error => error
          warn "godwit: #{error.message}; the old file is written to"
        end

        # @return [Boolean] whether the file has all that was received
        def finish
          notify("STOPPING=1")
          @receiver&.close
          @broadcaster.close
          statistics = @broadcaster.statistics(writers: 0)
          failed, error = (statistics["sink"] || {}).values_at("failed", "error")
          failed = failed.to_i
          line =
            Godwit::Logger::Summary.new.line(
              received: statistics["records"] + statistics["plain"], lost: statistics["lost"],
              writers: statistics["writers"], foreign: statistics["foreign"]
            )
          line += " · #{Godwit::Logger::Summary.number(failed)} not written" if failed.positive?
          warn line
          error.nil?
        end

        def where
          sides = {
            "in" => @broadcaster.input.grep_v(/\Ainproc:/),
            "durable in" => [@receiver&.last_endpoint].compact, "out" => @broadcaster.output,
            "control" => @broadcaster.control, "file" => [@file&.path].compact
          }
          sides
            .filter_map { |name, places| "#{name} #{places.join(" ")}" if places.any? }
            .join(", ")
        end

        def watch
          @broadcaster.on_event(:handshake_succeeded, :handshake_failed_protocol,
            :handshake_failed_auth, :handshake_failed_no_detail, :disconnected) do |event|
            warn "godwit: #{event}"
          end
        end

        def tell(line, state)
          warn line
          notify(state)
        end

        # systemd's Type=notify.
        def notify(state)
          path = ENV["NOTIFY_SOCKET"].to_s
          return if path.empty?
          ::Socket.open(:UNIX, :DGRAM) do |socket|
            socket.send(state, 0, ::Socket.sockaddr_un(path.sub(/\A@/, "\0")))
          end
        rescue SystemCallError => error
          warn "godwit: systemd was not told: #{error.message}"
        end
      end
    end
  end
end
