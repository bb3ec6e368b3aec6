# frozen_string_literal: true

module ZMQ
  # Passes messages between two sockets. {.new} returns when the sockets' context is terminated or
  # one of the sockets is closed. `Thread#kill`, `Timeout` and Ctrl-C also end the call. During the
  # call no other call may use the sockets.
  class Device
    attr_reader :device

    # @return [Device, nil] nil if {#initialize} raises
    def self.create(frontend, backend, capture = nil)
      new(frontend, backend, capture)
    rescue ArgumentError
      nil
    end

    # @param capture [Socket, nil] gets a copy of each message
    def initialize(frontend, backend, capture = nil)
      {"frontend" => frontend, "backend" => backend}.each do |name, socket|
        next if socket.is_a?(Socket)
        raise ArgumentError, "the #{name} must be a ZMQ::Socket, not a #{socket.class}"
      end
      sockets = [frontend, backend, *capture].each(&:use).map(&:godwit)
      if sockets.include?(nil)
        Failures.set_errno(EFAULT)
      else
        Godwit::Proxy.new(*sockets.first(2), capture: sockets[2]).run
      end
    rescue Godwit::ClosedError, Godwit::ContextTerminatedError, Godwit::BusyError => error
      frontend.record(error)
    end
  end

  # Another name of {Device}.
  class Proxy < Device; end
end
