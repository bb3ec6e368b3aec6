# frozen_string_literal: true

# What an old program's `require "ffi-rzmq-core"` finds when the door is open: all of `ZMQ`, which
# it asks for next.
require "godwit/compat/ffi_rzmq/zmq"
