# frozen_string_literal: true

# godwit_proxy.rb streamer|queue BACK FRONT: as bench/c/proxy.c, with godwit.
require_relative "common"
require "godwit"

pattern, back, front = ARGV
types = (pattern == "queue") ? [Godwit::ROUTER, Godwit::DEALER] : [Godwit::PULL, Godwit::PUSH]
sides = [types[0].bind(front), types[1].connect(back)]
Common.ready(sides[0].last_endpoint)
Godwit::Proxy.new(*sides).run
