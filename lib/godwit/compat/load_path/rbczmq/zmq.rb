# frozen_string_literal: true

Godwit::Compat::LoadPath.check(:rbczmq)
require "godwit/compat/rbczmq/zmq"
