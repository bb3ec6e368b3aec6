# frozen_string_literal: true

require_relative "../test_helper"
require_relative "../support/shared_owner"
require_relative "peer"

# Shared by the tests with pyzmq. Messages are Arrays of frames on its side.
class InteropCase < Godwit::TestCase
  extend Godwit::TestSupport::SharedOwner

  PATIENCE = Godwit::TestSupport::Peer::PATIENCE # seconds that a message may take

  def setup
    skip Godwit::TestSupport::Peer.missing if Godwit::TestSupport::Peer.missing
  end

  def teardown
    passed? ? @python&.ask(:reset) : self.class.owner.end_shared
  end

  # @return [Godwit::TestSupport::Peer] the Python process of the class's tests: a start takes a
  #   third of a second
  def python = @python ||= self.class.owner.shared_python

  # @private
  # Unbuffered output: Python loses the rest of an answer if a stop of the process interrupts the
  # write.
  def shared_python
    @python ||= Godwit::TestSupport::Peer.new(
      start_command([Godwit::TestSupport::Peer::PYTHON, "test/interop/peer.py"],
        deadline: Godwit::TestSupport::Peer::DEADLINE, env: {"PYTHONUNBUFFERED" => nil})
    )
  end

  # @private
  def end_shared
    @python&.finish
    @python = nil
    clean_up
  end

  # Like the harness's, but a test whose peer never comes fails by itself.
  def open_socket(type, **options)
    super(type, send_timeout: PATIENCE, recv_timeout: PATIENCE, **options)
  end
end
