# frozen_string_literal: true

require "godwit"
require_relative "failures"
require_relative "constants"
require_relative "lib_zmq"
require_relative "pointers"
require_relative "errors"
require_relative "util"
require_relative "context"
require_relative "message"
require_relative "socket"
require_relative "poll_items"
require_relative "poller"
require_relative "device"

# ffi-rzmq loads the gem ffi, so programs take it to be there. Here it is loaded when they first
# name it.
Object.autoload(:FFI, "ffi") unless defined?(FFI)

# ffi-rzmq's module, on top of Godwit: calls give 0 or more, or -1 and an errno ({Util.errno});
# results go into Strings and Arrays of the caller's. docs/ffi-rzmq.md says what differs. For new
# programs there is {Godwit}.
module ZMQ
  # The ffi-rzmq whose calls these are.
  VERSION = "2.0.7"
  # The folder of these files, with a / at its end.
  LIBPATH = "#{__dir__}/"
  # The folder above.
  PATH = "#{File.dirname(__dir__)}/"

  # @return [String] of the ffi-rzmq whose calls these are
  def self.version = VERSION

  # @param parts [Array<String>]
  # @return [String] them joined to `LIBPATH`
  def self.libpath(*parts) = File.join(LIBPATH, *parts.flatten)

  # @param parts [Array<String>]
  # @return [String] them joined to `PATH`
  def self.path(*parts) = File.join(PATH, *parts.flatten)
end
