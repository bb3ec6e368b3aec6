# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/shared_owner"
require_relative "peer"

# Shared by the tests with another library: pyzmq, unless a class names another. Messages are Arrays
# of frames on its side.
class InteropCase < Godwit::TestCase
  extend Godwit::TestSupport::SharedOwner

  PATIENCE = Godwit::TestSupport::Peer::PATIENCE # seconds that a message may take
  REFUSED = 0.5 # seconds after which a missing message counts as refused

  class << self
    # @return [Symbol] the name of the other side
    def other = :python

    # @return [String, nil] why there is no other side
    def missing = Godwit::TestSupport::Peer.missing

    # Defines the test for each transport and for each side binding; the block gets the transport
    # and :godwit or the other.
    def each_binder(name, only: %i[tcp ipc], &body)
      transports(only).product([:godwit, other]).each do |transport, binder|
        test("#{name} over #{transport}, #{binder} binds") do
          instance_exec(transport, binder, &body)
        end
      end
    end
  end

  def setup
    skip self.class.missing if self.class.missing
  end

  def teardown
    passed? ? @python&.ask(:reset) : self.class.owner.end_shared
    (@peers || []).each { |peer| assert_child peer.finish }
  end

  # @return [Godwit::TestSupport::Peer] the Python process of the class's tests: a start takes a
  #   third of a second
  def python = @python ||= self.class.owner.shared_python

  # @private
  def shared_python = @python ||= another_python

  # @private
  def end_shared
    @python = nil
    (@peers || []).each(&:finish)
    @peers = nil
    clean_up
  end

  def another_python
    # Unbuffered output: Python loses the rest of an answer if a stop of the process interrupts the
    # write.
    child =
      start_command(
        [Godwit::TestSupport::Peer::PYTHON, "test/interop/peer.py"],
        deadline: Godwit::TestSupport::Peer::DEADLINE,
        env: {
          "PYTHONUNBUFFERED" => nil
        }
      )
    peer = Godwit::TestSupport::Peer.new(child)
    (@peers ||= []) << peer
    peer
  end

  # Like the harness's, but a test whose peer never comes fails by itself.
  def open_socket(type, **options)
    super(type, send_timeout: PATIENCE, recv_timeout: PATIENCE, **options)
  end

  # Binds one of the sockets and connects the other.
  # @param ours [Godwit::Socket]
  # @param theirs [Godwit::TestSupport::Peer::Remote]
  def join(ours, theirs, binder: :godwit, transport: :tcp, endpoint: endpoint_for(transport))
    if binder == :godwit
      theirs.connect(ours.bind(endpoint).last_endpoint)
    else
      ours.connect(theirs.bind(endpoint))
    end
  end

  # Sends by the block until the other block receives a message, for subscriptions that arrive
  # later.
  def published(receive, &publish)
    eventually("nothing that was published arrived") do
      publish.call
      receive.call
    end
  end

  # Our socket's next message as an Array of frames.
  def received(socket, timeout: PATIENCE) = socket.recv_multipart(timeout: timeout)
end
