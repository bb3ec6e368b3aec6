# frozen_string_literal: true

# What would block the worker, or end it.
%i[
  BasicSocket Socket TCPSocket TCPServer UDPSocket UNIXSocket UNIXServer IPSocket SocketError STDIN
].each { |name| Object.remove_const(name) if Object.const_defined?(name) }
$stdin = nil

class Object
  %i[` system gets readline readlines exec fork exit exit! abort spawn].each do |name|
    undef_method(name) if method_defined?(name)
  end
end

class << IO
  %i[popen _popen pipe _pipe select].each { |name| undef_method(name) if method_defined?(name) }
end

# `require` raises it; mruby has none.
class LoadError < ScriptError; end

class Object
  # In an app's file: names the app.
  # @param app [#call] takes an env, and gives status, headers and body
  # @return [Object] the app
  def run(app) = Edge::Apps.named(app)

  # @param name [String] "json" does nothing; "./x" loads a file beside the app, once for each app
  # @return [Boolean] whether it was loaded now
  # @raise [LoadError]
  def require(name) = Edge::Apps.require(name)

  # Waits on nginx's loop.
  # @param seconds [Numeric, nil] nil: until the request ends
  # @return [Integer] seconds, rounded
  def sleep(seconds = nil)
    valid = seconds.nil? || (seconds.is_a?(Numeric) && seconds >= 0)
    raise ArgumentError, "sleep takes seconds, 0 or more" unless valid
    Edge.sleep(seconds ? (seconds * 1000).ceil : -1)
    seconds ? seconds.round : 0
  end

  # Runs an app's file. Its class is Object, so that `class` and `def` mean what they do at the top
  # of a file. Without arguments, since these would be locals of the file.
  # @private
  def _edge_evaluate = eval(*Edge::Apps::FILE) # standard:disable Security/Eval -- it is the app
end
