# frozen_string_literal: true

# After this file is required, `require "rbczmq"` and `require "zmq"` load rbczmq's module ZMQ on
# top of Godwit: docs/rbczmq.md.
require_relative "load_path"
Godwit::Compat::LoadPath.add(:rbczmq, "ZMQ")
