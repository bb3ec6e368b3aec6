# frozen_string_literal: true

require_relative "../signals"

module Godwit
  module CLI
    class Log
      # Runs a broadcaster and its file as a process: prints the endpoints, handles signals, and
      # writes the received records before the end.
      # @private
      class Service
        def initialize(verbose)
          @verbose = verbose
        end

        # @yieldparam signals [Thread::Queue] an error in it ends the process
        # @yieldreturn [Array] the broadcaster, and its sink or nil
        def run(&build)
          Signals.queued("INT", "TERM", "HUP") do |signals|
            @signals = signals
            serve(&build)
          end
        end

        private

        def serve
          @broadcaster, @file = yield @signals
          watch if @verbose
          @broadcaster.start
          warn "godwit: #{where}"
          notify("READY=1")
          word = handle_signals
          return EXIT[:failed] unless finish
          Signals.status(word)
        ensure
          finish if @broadcaster && !word
        end

        def handle_signals
          waiter = Thread.new do # the broadcaster ends by itself only after an error
            @broadcaster.wait
            @signals << StateError.new("the broadcaster has ended", operation: :log)
          rescue => error
            @signals << error
          end
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

        def reopen
          @file&.reopen
        rescue Error => error
          warn "godwit: #{error.message}; it keeps writing to the old file"
        end

        # @return [Boolean] whether the file has all that was received
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
      end
    end
  end
end
