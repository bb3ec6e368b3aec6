# frozen_string_literal: true

require "tmpdir"

module Godwit
  module TestSupport
    # Makes sockets and contexts, and closes them at the end of the test. The test itself must close
    # those that it makes by other means.
    module Sockets
      # A stage of another backend or mode tests only the transport that the stage chooses.
      TRANSPORTS = [
        *ENV.fetch("GODWIT_TEST_TRANSPORT", "tcp ipc inproc").split.map(&:to_sym)
      ].freeze

      # Classes that make sockets internally and close them.
      OWNERS = /\AGodwit::(?:Logger|Auth\z|Perf::Server)/

      # Several threads of a test may register objects at the same time, on JRuby in parallel.
      OWNING = Mutex.new

      @serial = 0
      # The end of a context may wait 5 s for linger, if the test closed a socket with an unsent
      # message.
      @context_deadline = Waiters::HANG
      class << self
        # @return [Numeric] seconds that a context may take to end
        attr_accessor :context_deadline

        # Whether a waiting call raises this error when its socket or its context is closed.
        def closing_error?(error)
          error.is_a?(Godwit::ClosedError) || error.is_a?(Godwit::ContextTerminatedError)
        end

        # @return [String] a name that no other test on this machine uses
        def unique_name
          "godwit-test-#{Process.pid}-#{@serial += 1}"
        end

        # @return [Array<Socket, Context>, nil] objects that the previous test left open; nil:
        #   unknown
        attr_accessor :open_between

        def open_ones
          (@known ? @lock.synchronize { @known.keys } : ObjectSpace.each_object(Closable)).reject(
            &:closed?
          )
        end

        # @param one [Socket, Context] a new socket or context
        def know(one) = @lock.synchronize { @known[one] = true }
      end

      # A marker of the classes that the harness closes: one ObjectSpace walk finds them all.
      module Closable; end
      [Godwit::Socket, Godwit::Context].each { |klass| klass.include(Closable) }

      # JRuby's ObjectSpace slows every allocation, so on JRuby these objects register themselves.
      if RUBY_ENGINE == "jruby"
        @known = ObjectSpace::WeakMap.new
        @lock = Mutex.new
        known = Module.new do
          def initialize(...)
            super
            Sockets.know(self)
          end
        end
        [Godwit::Socket, Godwit::Context].each { |klass| klass.prepend(known) }
      end

      # @return [Godwit::Context] the test's context
      def context
        @context ||= Godwit::Context.new
      end

      # @param type [Symbol] such as :REQ
      # @return [Godwit::Socket] in the test's context unless `context:` names another
      def open_socket(type, **options)
        own(Godwit.const_get(type).new(context: context, **options))
      end

      # @return [Godwit::Poller] closed at the test's end
      def open_poller(*things) = own(Godwit::Poller.new(*things))

      # @return [Godwit::Loop] closed at the test's end
      def open_loop = own(Godwit::Loop.new)

      # @return [Array(IO, IO)] both closed at the test's end
      def pipe = IO.pipe.each { |io| own(io) }

      # Makes the harness close an object that the test opened by other means.
      def own(closable)
        OWNING.synchronize { (@owned ||= []) << closable }
        closable
      end

      # @param transport [Symbol] :tcp, :ipc (an abstract name), :ipc_file, :inproc
      # @return [String] an endpoint to bind; the socket's last_endpoint is the endpoint to connect
      def endpoint_for(transport)
        case transport
        when :tcp then "tcp://127.0.0.1:*"
        when :ipc then "ipc://@#{Sockets.unique_name}"
        when :ipc_file then "ipc://#{scratch_dir}/#{Sockets.unique_name}"
        when :inproc then "inproc://#{Sockets.unique_name}"
        else raise ArgumentError, "no transport #{transport.inspect}"
        end
      end

      # The host of a port that a program binds later or again: on 127.0.0.1 another process may
      # take the port first.
      # @return [String] a loopback address that only this process's tests use
      def own_host
        "127.#{64 + (Process.pid >> 16 & 63)}.#{Process.pid >> 8 & 255}.#{Process.pid & 255}"
      end

      # @return [String] a folder that the test's end removes
      def scratch_dir
        @scratch_dir ||= Dir.mktmpdir("godwit-")
      end

      # @param names [Array<#to_s>] path components below {#scratch_dir}
      def path(*names) = File.join(scratch_dir, *names.map(&:to_s))

      # Opens two sockets, binds the first and connects the second to it.
      # @param options of both; `bind_options:` of the first only, `connect_options:` of the second
      # @return [Array(Godwit::Socket, Godwit::Socket)]
      def connected_pair(
        binder, connector, transport: :tcp, bind_options: {}, connect_options: {}, **options
      )
        bound = open_socket(binder, **options, **bind_options).bind(endpoint_for(transport))
        [bound, open_socket(connector, **options, **connect_options).connect(bound.last_endpoint)]
      end

      # Runs the block once per transport, with its name.
      def each_transport(&block) = TRANSPORTS.each(&block)

      # Allows leaks, for tests of objects that the garbage collector closes.
      def leaks_allowed!
        @leaks_allowed = true
      end

      private

      def note_open_ones
        @open_before = Sockets.open_between || Sockets.open_ones
      end

      # Closes objects that the test left open, so that the next test starts without them.
      # @return [Array<String>] descriptions of these objects
      def close_leaks
        Sockets.open_between = nil
        return [] if @leaks_allowed
        open = Sockets.open_ones
        # The process's default context does not count as a leak.
        stays = [*@open_before, *(Godwit.context if open.any?(Godwit::Context))]
        Sockets.open_between, left =
          open.partition { |one| stays.any? { |other| other.equal?(one) } }
        ours = [*@owned, @context]
        left.reject { |one| ours.any? { |other| other.equal?(one) } }.map do |one|
          what = "left open: #{one.inspect}"
          one.close
          what
        end
      end

      # Closes the test's sockets with a short linger: their undelivered messages must not delay the
      # end. The full linger applies only to sockets that the test closed itself.
      # @return [Array<String>] a text for each socket that could not be closed
      def close_sockets
        users, others =
          (@owned || []).partition do |one|
            one.is_a?(Godwit::Poller) || one.is_a?(Godwit::Loop) ||
              one.class.ancestors.any? { |type| type.name.to_s.match?(OWNERS) }
          end
        # A poller that waits only on IOs ends only by its own close. A logger's object or an Auth
        # closes the sockets that it made.
        users.each(&:close)
        sockets, contexts = others.partition { |one| one.is_a?(Godwit::Socket) }
        @contexts_to_close = [*contexts, *@context]
        sockets.reject(&:closed?).filter_map do |socket|
          no_linger(socket)
          socket.close
          nil
        rescue => error
          "closing #{socket.inspect} raised #{error.class}: #{error.message}"
        end
      end

      # A linger of 0 would make libzmq abort when both sockets of a connection close in the middle
      # of a message of several frames (docs/limits.md).
      def no_linger(socket)
        socket.linger = 0.02
      rescue Godwit::ClosedError, Godwit::ContextTerminatedError
        nil # the test has shut down the context
      end

      # @return [Array<String>] a text for each context that did not end in time
      def close_contexts
        deadline = Sockets.context_deadline * GCLevels::SLOWNESS
        (@contexts_to_close || []).filter_map do |context|
          started = monotonic
          closer = Thread.new { context.close }
          closer.report_on_exception = false
          if !closer.join(deadline)
            "a context did not end within #{deadline} s: #{closer.backtrace&.first(3)&.join(" < ")}"
          elsif monotonic - started >= deadline
            "a context took #{(monotonic - started).round(1)} s to end"
          end
        end
      end

      def remove_scratch_dir
        FileUtils.remove_entry(@scratch_dir) if @scratch_dir
      end
    end
  end
end
