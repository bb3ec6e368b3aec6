# frozen_string_literal: true

# What an old program's `require "ffi-rzmq"` finds when the door is open.
require "godwit/compat/ffi_rzmq/zmq"
