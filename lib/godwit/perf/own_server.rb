# frozen_string_literal: true

module Godwit
  module Perf
    # A server on loopback for one measurement. It is a child process, so that it does not compete
    # for this process's GVL. Over FFI it is a thread: JRuby has no fork and no GVL.
    module OwnServer
      ENDPOINT = "tcp://127.0.0.1:*"

      module_function

      def run(&block) = (BACKEND == :native) ? in_child(&block) : in_thread(&block)

      def in_child
        output, endpoint = IO.pipe
        lifeline, hold = IO.pipe
        pid = fork do
          [output, hold].each(&:close)
          serve(endpoint, lifeline)
        end
        [endpoint, lifeline].each(&:close)
        own = output.gets or raise StateError, "the server for this measurement did not start"
        yield own.chomp
      ensure
        hold&.close
        output&.close
        reap(pid) if pid
      end

      # With trap("CHLD", "IGNORE") the kernel reaps the child: then wait raises ECHILD.
      def reap(pid)
        Process.wait(pid)
      rescue Errno::ECHILD
        nil
      end

      # Runs in the child, which ignores Ctrl-C and ends when its parent closes the lifeline pipe.
      def serve(endpoint, lifeline)
        trap("INT", "IGNORE")
        server = Server.new(ENDPOINT)
        Thread.new { lifeline.read && server.close }
        endpoint.puts server.last_endpoint
        endpoint.close
        server.run
      ensure
        exit!(0)
      end

      def in_thread
        server = Server.new(ENDPOINT)
        thread = Worker.new { server.run }
        yield server.last_endpoint
      ensure
        server&.close
        thread&.join
      end
      private_class_method :in_child, :reap, :serve, :in_thread
    end
    private_constant :OwnServer
  end
end
