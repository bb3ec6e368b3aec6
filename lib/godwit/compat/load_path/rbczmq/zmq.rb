# frozen_string_literal: true

Godwit::Compat::LoadPath.enter(:rbczmq)
require "godwit/compat/rbczmq/zmq"
