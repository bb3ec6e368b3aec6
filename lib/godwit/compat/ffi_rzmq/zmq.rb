# frozen_string_literal: true

require "godwit"
require_relative "failures"

# ffi-rzmq loads the gem ffi, and programs rely on that. Here the first use of FFI loads it.
Object.autoload(:FFI, "ffi") unless defined?(FFI)

# ffi-rzmq's module, on top of Godwit. Calls return 0 or more, or -1 and set an errno
# ({Util.errno}); results go into the caller's Strings and Arrays. docs/ffi-rzmq.md lists the
# differences. New programs use {Godwit}.
module ZMQ
  # The release of ffi-rzmq that has this API.
  VERSION = "2.0.7"
  # The folder of these files, with a / at its end.
  LIBPATH = "#{__dir__}/"
  # The folder above LIBPATH, with a / at its end.
  PATH = "#{File.dirname(__dir__)}/"

  Failures = Godwit::Compat::FFIRzmq::Failures
  private_constant :Failures

  def self.version = VERSION
  def self.libpath(*parts) = File.join(LIBPATH, *parts.flatten)
  def self.path(*parts) = File.join(PATH, *parts.flatten)
end

%w[
  constants lib_zmq pointers util context message socket poll_items poller device
].each { |file| require_relative file }
