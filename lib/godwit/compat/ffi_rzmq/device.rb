# frozen_string_literal: true

module ZMQ
  # Passes messages between two sockets. {.new} returns when the sockets' context is terminated or
  # one of them is closed. `Thread#kill`, `Timeout` and Ctrl-C end it too. No other call may use the
  # sockets meanwhile.
  class Device
    attr_reader :device

    # @return [Device, nil] nil where {#initialize} raises
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
        Failures.note(EFAULT)
      else
        Godwit::Proxy.new(*sockets.first(2), capture: sockets[2]).run
      end
    rescue Godwit::ClosedError, Godwit::ContextTerminatedError, Godwit::BusyError => error
      frontend.note(error)
    end
  end

  # Another name of {Device}.
  class Proxy < Device; end
end
