# frozen_string_literal: true

module ZMQ
  # Carries messages between two sockets. {.new} returns when the sockets' context is terminated or
  # one of them closed, and not before. It ends on `Thread#kill`, `Timeout` and Ctrl-C too; while it
  # runs the sockets are its own.
  class Device
    # @return [nil]
    attr_reader :device

    # @param frontend [Socket]
    # @param backend [Socket]
    # @param capture [Socket, nil]
    # @return [Device, nil] nil when one is no {Socket}
    def self.create(frontend, backend, capture = nil)
      new(frontend, backend, capture)
    rescue ArgumentError
      nil
    end

    # @param frontend [Socket] of a type that does not speak in turn
    # @param backend [Socket] of a type that does not speak in turn
    # @param capture [Socket, nil] gets a copy of each message
    # @raise [ArgumentError] when one is no {Socket}, or of a type that cannot be carried between
    def initialize(frontend, backend, capture = nil)
      {"frontend" => frontend, "backend" => backend}.each do |name, socket|
        unless socket.is_a?(Socket)
          raise ArgumentError, "the #{name} is to be a ZMQ::Socket, not a #{socket.class}"
        end
      end
      [frontend, backend, *capture].each(&:use)
      sockets = [frontend, backend, *capture].map(&:godwit)
      if sockets.include?(nil)
        Godwit::Compat::FFIRzmq::Failures.note(EFAULT)
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
