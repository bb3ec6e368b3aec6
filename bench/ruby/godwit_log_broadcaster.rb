# frozen_string_literal: true

# godwit_log_broadcaster.rb: passes records on from a PULL to a PUB; says where both are, "IN OUT".
require_relative "common"
require "godwit"

broadcaster = Godwit::Logger::Broadcaster.new("tcp://127.0.0.1:*", "tcp://127.0.0.1:*")
Common.ready("#{broadcaster.input.first} #{broadcaster.output.first}")
broadcaster.run
