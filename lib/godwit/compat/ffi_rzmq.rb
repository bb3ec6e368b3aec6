# frozen_string_literal: true

# After this file is required, `require "ffi-rzmq"` loads ffi-rzmq's module ZMQ on top of Godwit,
# whether or not the gem ffi-rzmq is installed: docs/ffi-rzmq.md.
require_relative "load_path"
Godwit::Compat::LoadPath.add(:ffi_rzmq, "LibZMQ")
