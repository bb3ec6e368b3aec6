# frozen_string_literal: true

require "godwit/compat/ffi_rzmq/zmq"
