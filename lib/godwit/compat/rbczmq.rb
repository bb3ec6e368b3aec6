# frozen_string_literal: true

# After this `require "rbczmq"` and `require "zmq"` give module ZMQ as rbczmq has it, on top of
# Godwit: docs/rbczmq.md.
require_relative "load_path"
Godwit::Compat::LoadPath.open(:rbczmq)
