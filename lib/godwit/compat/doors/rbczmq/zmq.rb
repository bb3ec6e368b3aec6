# frozen_string_literal: true

Godwit::Compat::Door.enter(:rbczmq)
require "godwit/compat/rbczmq/zmq"
