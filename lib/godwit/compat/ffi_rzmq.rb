# frozen_string_literal: true

# The door for programs written for ffi-rzmq: `ruby -rgodwit/compat/ffi_rzmq old.rb`, or this one
# require in the Gemfile. From then on `require "ffi-rzmq"` gives ffi-rzmq's `ZMQ` on top of Godwit,
# whether that gem is installed or not. See docs/ffi-rzmq.md.

if defined?(LibZMQ) && !defined?(Godwit::Compat::FFIRzmq)
  raise LoadError,
    "the gem ffi-rzmq is loaded already: require godwit/compat/ffi_rzmq before it (ruby " \
    "-rgodwit/compat/ffi_rzmq, or " \
      "the first line of the Gemfile)"
end

require_relative "load_path"
Godwit::Compat::LoadPath.only(:ffi_rzmq)

folder = File.expand_path("load_path/ffi_rzmq", __dir__)
$LOAD_PATH.unshift(folder) unless $LOAD_PATH.include?(folder)
