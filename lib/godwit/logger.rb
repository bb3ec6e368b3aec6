# frozen_string_literal: true

require "logger"
require_relative "../godwit"

module Godwit
  class Logger < ::Logger; end # else each file below would load this one again, by the autoload
end

require_relative "logger/levels"
require_relative "logger/formatter"
require_relative "logger/settings"
require_relative "logger/handle"

module Godwit
  # Ruby's Logger, whose records go over ZeroMQ to a reader.
  #
  #   log = Godwit::Logger.new("tcp://loghost:7000", level: :info, progname: "billing")
  #   log.warn("card refused", user: 42)            # what follows the text is data
  #   log.tagged("req-9") { log.info { "lazy" } }
  #   log.error(exception) # class, message, backtrace and causes are data too
  #
  # A String is always an endpoint; with nil, or an IO, it is Ruby's Logger, which shows data behind
  # the text.
  #
  # **It never raises into the program and never stops it**: records go into a bounded queue, from
  # which a thread of its own sends. When that is full, `overflow:` says what happens; whatever is
  # dropped is counted, and one record (WARN, "dropped 12 in 0.5 s") tells readers of it when there
  # is room again. What it has to say of itself goes to $stderr, one line in ten seconds at most.
  #
  # **Threads, fibers, trap handlers**: any may log; the call takes no lock unless the queue is
  # full. (In a trap handler `overflow: :block` drops.) **Fork**: a child logs on, with an id, a
  # queue and a connection of its own; what the parent had in its queue stays the parent's. `exit!`
  # loses what has not gone yet: {#close} first. **Exit**: what is queued goes, within linger; what
  # does not is counted in one line on $stderr. **Garbage collector**: one that is dropped is
  # closed. **Ractors**: the main one only.
  #
  # @see https://docs.ruby-lang.org/en/master/Logger.html Ruby's Logger
  class Logger < ::Logger
    autoload :Record, "godwit/logger/record"
    autoload :Reader, "godwit/logger/reader"
    autoload :Filter, "godwit/logger/filter"
    autoload :View, "godwit/logger/view"
    autoload :Native, "godwit/logger/native"
    autoload :Summary, "godwit/logger/summary"
    autoload :Broadcaster, "godwit/logger/broadcaster"
    autoload :Control, "godwit/logger/control"
    autoload :Sink, "godwit/logger/sink"
    autoload :Receiver, "godwit/logger/receiver"

    # Integers: records `queued`, `sent` (handed to libzmq, with those of an earlier process's
    # spool), `dropped` (by overflow, or since it was closed) and `spooled` (on disk). `last_error`:
    # an Exception or nil, such as an address in use.
    Stats = Struct.new(:queued, :sent, :dropped, :spooled, :last_error, keyword_init: true)

    class << self
      private

      # Makes what a logger or a device with an endpoint holds: a folder, or a port, maybe. So an
      # interrupt (`Timeout`) waits until the block has it, and then does not leave them to a logger
      # that nobody has.
      # @yieldparam handle [Handle]
      def handle(endpoint, **options)
        handle = nil
        Keywords.check(Settings, options, Logger)
        settings = Settings.new(endpoint, **options)
        Thread.handle_interrupt(Object => :never) { yield(handle = Handle.new(settings)) }
        done = true
      ensure
        handle&.abandon unless done
      end
    end

    # @param target [String, IO, #write, nil] an endpoint, such as "tcp://loghost:7000"; or what
    #   Ruby's Logger takes, but no name of a file
    # @param shift_age [Integer, String] of Ruby's Logger; an endpoint has no use for it
    # @param shift_size [Integer] of Ruby's Logger
    # @param level [Integer, Symbol, String] lowest that is logged: :debug, :info, :warn, :error,
    #   :fatal, :unknown
    # @param progname [String, nil] the program's name, by which readers choose
    # @param formatter [#call, nil] as Ruby's; it is called in the thread that logs, and its line
    #   without the line end is the record's text. One that raises: the message as it is, with the
    #   error's class. nil: the message is the text
    # @param datetime_format [String, nil] of lines that are made here (`wire: :plain`)
    # @param options [Hash] all that follow are for an endpoint alone; any other is an option of the
    #   PUSH socket (`send_hwm: 10_000`, `curve:`, `server_key:`, `auth:`…)
    # @option options [Symbol] :overflow (:drop_new) with the queue full: :drop_new, :drop_old,
    #   :block (the caller waits), :spool (to disk). While the socket accepts (it has taken
    #   something within a second in which callers waited), a caller first gives the sender up to
    #   half a second
    # @option options [Integer] :queue (100_000) bound in records
    # @option options [Integer] :queue_bytes (16_777_216) bound in bytes of memory, about, with
    #   libzmq's own queue
    # @option options [Numeric, nil] :block_timeout (nil) seconds that `:block` waits at most; nil:
    #   for ever
    # @option options [Numeric] :linger (5) seconds in which {#close} and the process's end let
    #   records go
    # @option options [Symbol] :wire (:records) or :plain, one frame with the line, as rsyslog and
    #   old readers want it
    # @option options [String] :host this machine's name, as readers see it
    # @option options [Boolean] :bind (false) whether it binds the endpoint instead of connecting to
    #   it; a forked child cannot then
    # @option options [Context] :context nil: one of its own
    # @option options [String] :spool folder for `overflow: :spool`: what the socket does not take
    #   within 50 ms goes there, and is sent, in order, before newer records. What a process leaves
    #   is sent by the next one that uses the folder. When it has its bytes, further records are
    #   dropped
    # @option options [Integer] :spool_bytes (1 GiB) bound of the folder
    # @option options [String] :durable folder in which each record stands before the call returns
    #   (those of trap handlers a moment later); the endpoint is a {Receiver}'s, and in its file
    #   each record stands once, whichever side is killed. The socket is a DEALER. A folder is one
    #   logger's, and never copied; forked children have folders of their own within. `overflow:` is
    #   :drop_new or :block then, and counts with the folder full; `sent` in {#stats} is what was
    #   acknowledged
    # @option options [Integer] :durable_bytes (1 GiB) bound of that folder
    # @option options [Boolean] :fsync (false) fsync(2) of each record in it, against power cuts too
    # @raise [BusyError] when another process, or logger, uses the folder of `durable:`
    # @raise [ArgumentError] for an unknown level, a malformed endpoint, an unknown option, or a
    #   value that is not allowed
    # @raise [AddressInUseError] with `bind: true`
    # @raise [UnsupportedError] in another Ractor than the main one
    def initialize(
      target = nil, shift_age = 0, shift_size = 1_048_576, level: DEBUG, progname: nil,
      formatter: nil, datetime_format: nil, **options
    )
      if target.is_a?(::String) && target != File::NULL
        options = options.except(:binmode, :shift_period_suffix, :reraise_write_errors)
        super(nil, level: level, progname: progname)
        @default_formatter = Formatter.new
        @formatter = formatter || @default_formatter
        self.datetime_format = datetime_format
        Logger.__send__(:handle, target, **options) { |handle| @handle = handle }
      else
        super
      end
    end

    # Logs a message, if the level is high enough.
    # @param severity [Integer, nil] DEBUG to UNKNOWN; nil: UNKNOWN
    # @param message [Object] a String is the text; an Exception also goes as data, and so does a
    #   Hash; anything else is shown by `inspect`
    # @param progname [Object, nil] nil: the logger's own. It is the message where there is neither
    #   message nor block
    # @param payload [Hash, nil] data to go with it
    # @param keywords [Hash] the same
    # @yieldreturn [Object] the message, where none is given
    # @return [true] with `durable:` whether the record is on the disk: false when it was refused,
    #   for it came too late or found no room, and is counted; nil in a trap handler, whose record
    #   is stored in a moment
    def add(severity, message = nil, progname = nil, payload = nil, **keywords, &block)
      handle = @handle
      unless handle
        return super(severity, message, progname, &block) unless payload || !keywords.empty?
        payload = Text.merge(payload, keywords) unless keywords.empty?
        unless NilClass === message && !block
          return (
            super(severity, nil, progname) do
              Text.with((NilClass === message && block) ? yield : message, payload)
            end
          )
        end
        return super(severity) { Text.with(progname, payload) }
      end
      severity ||= UNKNOWN
      return true if severity < level
      severity = UNKNOWN if Integer === severity && severity > UNKNOWN
      progname = @progname if NilClass === progname # asks no object that has no such method
      if NilClass === message
        if block
          message = yield
        else
          message = progname
          progname = @progname
        end
      end
      payload = Text.merge(payload, keywords) unless keywords.empty?
      handle.record(severity, progname, message, payload, @formatter)
    end
    alias_method :log, :add

    # @!method debug(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level DEBUG.
    #   @param progname [Object, nil] the message; with a block, the program's name
    #   @param payload [Hash, nil] data to go with it
    #   @param keywords [Hash] the same; alone, they are the message
    #   @return [true] as {#add}
    # @!method info(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level INFO.
    #   @param progname [Object, nil] the message; with a block, the program's name
    #   @param payload [Hash, nil] data to go with it
    #   @param keywords [Hash] the same; alone, they are the message
    #   @return [true] as {#add}
    # @!method warn(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level WARN.
    #   @param progname [Object, nil] the message; with a block, the program's name
    #   @param payload [Hash, nil] data to go with it
    #   @param keywords [Hash] the same; alone, they are the message
    #   @return [true] as {#add}
    # @!method error(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level ERROR.
    #   @param progname [Object, nil] the message; with a block, the program's name
    #   @param payload [Hash, nil] data to go with it
    #   @param keywords [Hash] the same; alone, they are the message
    #   @return [true] as {#add}
    # @!method fatal(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level FATAL.
    #   @param progname [Object, nil] the message; with a block, the program's name
    #   @param payload [Hash, nil] data to go with it
    #   @param keywords [Hash] the same; alone, they are the message
    #   @return [true] as {#add}
    # @!method unknown(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level UNKNOWN.
    #   @param progname [Object, nil] the message; with a block, the program's name
    #   @param payload [Hash, nil] data to go with it
    #   @param keywords [Hash] the same; alone, they are the message
    #   @return [true] as {#add}
    %w[debug info warn error fatal unknown].each do |name|
      class_eval <<~RUBY, __FILE__, __LINE__ + 1
        def #{name}(progname = nil, payload = nil, **keywords, &block) # def info(…)
          return add(#{name.upcase}, nil, progname, &block) unless payload || !keywords.empty?
          unless payload || block || !(NilClass === progname)
            return add(#{name.upcase}, nil, keywords)
          end
          add(#{name.upcase}, nil, progname, payload, **keywords, &block)
        end
      RUBY
    end

    # Logs a text as it is, at level UNKNOWN.
    # @param message [String]
    # @return [Integer, nil] its bytes; as Ruby's where it is no endpoint
    def <<(message)
      return super unless @handle
      text = Text.name(message)
      @handle.raw(UNKNOWN, @progname, Text.line(text))
      text.bytesize
    end

    # Has tags for the block, in this fiber. Without a block, gives a logger that always has them
    # and shares all else.
    # @param tags [Array<Object>]
    # @yieldparam logger [Logger] this one
    # @return [Object] what the block gives, or the other logger
    def tagged(*tags)
      if block_given?
        return yield(self) unless formatter.respond_to?(:tagged)
        formatter.tagged(*tags) { yield self }
      else
        copy = clone
        if copy.formatter.respond_to?(:push_tags)
          copy.formatter = formatter.tagged(*tags) { formatter.clone }
        end
        copy
      end
    end

    # Waits until what was logged so far has been handed to libzmq (with `overflow: :spool`, or is
    # on the disk; with `durable:`, has been acknowledged). In a trap handler, which cannot wait but
    # on JRuby, it only tells whether all has.
    # @param timeout [Numeric, nil] seconds; nil: for ever
    # @return [Boolean] whether it has
    # @raise [ArgumentTypeError, ArgumentValueError] when the timeout is none
    def flush(timeout: nil)
      @handle ? @handle.flush(timeout) : true
    end

    # Sends what is queued, for at most linger, and ends; what could not go is told on $stderr.
    # Records logged later are dropped and counted. In a forked child it leaves the parent's alone.
    # @return [nil]
    def close
      return super unless @handle
      @handle.close
      nil
    end

    # Begins anew after {#close}, or with another endpoint.
    # @param target [String, nil] an endpoint, nil: the same
    # @return [self]
    def reopen(target = nil, **)
      return super unless @handle
      @handle.reopen(target.is_a?(::String) ? @handle.settings.at(target) : nil)
      self
    end

    # @return [Stats, nil] of this process; nil where it is no endpoint
    def stats = @handle&.stats

    # @return [String] endpoint and level
    def inspect
      if @handle
        "#<#{self.class} #{@handle.settings.endpoint} " \
        "level=#{level}#{" (closed)" if @handle.closed?}>"
      else
        super
      end
    end
  end
end
