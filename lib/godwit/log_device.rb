# frozen_string_literal: true

require_relative "logger"

module Godwit
  # A log device for any other logger: it logs each line that is written to it as one record, under
  # the rules of {Logger}.
  #
  #   log = ::Logger.new(Godwit::LogDevice.new("tcp://loghost:7000", progname: "billing"))
  #
  # A line that Ruby's formatter made gives level, program and message. Any other line is the
  # message, at level UNKNOWN.
  #
  # **Threads, fibers, trap handlers, fork, exit**: as for {Logger}. (Ruby's Logger itself locks a
  # mutex, so it cannot be used in a trap handler.)
  class LogDevice
    %i[Entry Handle Levels Lines Text].each do |name|
      const_set(name, Logger.const_get(name))
      private_constant name
    end

    # @param endpoint [String] such as "tcp://loghost:7000"
    # @param progname [String, nil] the program's name for lines that name no program
    # @param options [Hash] those that {Logger#initialize} has for an endpoint
    # @raise [ArgumentError] for a malformed endpoint, an unknown option, or a value that is not
    #   allowed
    def initialize(endpoint, progname: nil, **options)
      @progname = progname
      Handle.open(endpoint, **options) { |handle| @handle = handle }
    end

    # @param line [String]
    # @return [Integer] the line's bytes
    def write(line)
      line = Text.name(line)
      level, prog, text = parts(line)
      Entry.log_text(@handle, level, prog, text)
      line.bytesize
    end

    # Writes a line as {#write} does.
    # @param line [String]
    # @return [self]
    def <<(line)
      write(line)
      self
    end

    # Waits until all lines written so far have been handed to libzmq.
    # @param timeout [Numeric, nil] seconds; nil: for ever
    # @return [Boolean] whether all have been
    # @raise [ArgumentTypeError, ArgumentValueError] when the timeout is no duration
    def flush(timeout: nil) = @handle.flush(timeout)

    # Closes the device as {Logger#close} closes a logger.
    # @return [nil]
    def close
      @handle.close
      nil
    end

    # @return [Boolean]
    def closed? = @handle.closed?

    # Opens the device again as {Logger#reopen} does, with the same endpoint.
    # @return [self]
    def reopen
      @handle.reopen
      self
    end

    # @return [Logger::Stats]
    def stats = @handle.stats
    # @return [String]
    def inspect = "#<#{self.class} #{@handle.settings.endpoint}#{" (closed)" if closed?}>"

    private

    def parts(line)
      found = Lines.parse(line.b.delete_suffix("\n")) unless @handle.settings.plain?
      level = found && Levels::LABELS.index(found.label)
      return [Logger::UNKNOWN, @progname, line.chomp] unless level
      prog, text = [found.prog, found.text].map { |piece| piece.force_encoding(line.encoding) }
      [level, prog.empty? ? @progname : prog, text]
    end
  end
end
