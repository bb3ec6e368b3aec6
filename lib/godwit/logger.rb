# frozen_string_literal: true

%w[fileutils forwardable io/wait json logger securerandom set socket zlib].each do |name|
  require name
end
require "java" if RUBY_ENGINE == "jruby"
require_relative "../godwit"
require_relative "generated/logger_constants"

module Godwit
  class Logger < ::Logger; end # defined before the files below, which would autoload this file
end

# The files that a program needs to log: a trap handler may log, but cannot load a file.
%w[
  files local_level warnings exit formatter
  wire/levels wire/lines wire/topic wire/text wire/error_text wire/packing wire/header wire/entry
  wire/durable_wire
  writing/settings writing/stream writing/sequence_counter writing/bounded_queue
  writing/push_transport writing/base_writer
  durable/lock durable/segmented_log durable/disk_queue durable/spool_transport
  durable/send_window durable/durable_sender durable/durable_sequence durable/backlog durable/writer
  writing/sender writing/handle
].each { |name| require_relative "logger/#{name}" }

module Godwit
  # Ruby's Logger, whose records go over ZeroMQ to a reader.
  #
  #   log = Godwit::Logger.new("tcp://loghost:7000", level: :info, progname: "billing")
  #   log.warn("card refused", user: 42) # what follows the text is data
  #   log.tagged("req-9") { log.info { "lazy" } }
  #   log.error(exception) # class, message, backtrace and causes are data too
  #
  # A String is always an endpoint. With nil or an IO, this is Ruby's Logger, which writes the data
  # after the text.
  #
  # **It never raises into the program and never stops it**: a thread sends the records of a bounded
  # queue. When the queue is full, `overflow:` decides. Dropped records are counted. Once the queue
  # has space, one record (WARN, "dropped 12 in 0.5 s") reports them. The logger's own messages go
  # to $stderr, at most one line in ten seconds.
  #
  # **Threads, fibers, trap handlers**: any may log. A call locks a mutex only when the queue is
  # full (in a trap handler, a full queue drops the record). **Fork**: a child has an id, a queue
  # and a connection of its own; the parent keeps its queued records. `exit!` loses queued records:
  # call {#close} first. **Exit**: sends queued records, within linger; a line on $stderr counts the
  # rest. **Garbage collector**: closes a collected logger. **Ractors**: only the main one may log.
  #
  # @see https://docs.ruby-lang.org/en/master/Logger.html Ruby's Logger
  class Logger < ::Logger
    include LocalLevel

    autoload :Record, "godwit/logger/wire/record"
    autoload :Reader, "godwit/logger/reading/reader"
    autoload :Filter, "godwit/logger/reading/filter"
    autoload :View, "godwit/logger/reading/view"
    autoload :Summary, "godwit/logger/reading/summary"
    autoload :Control, "godwit/logger/reading/control"
    autoload :Broadcaster, "godwit/logger/serving/broadcaster"
    autoload :Receiver, "godwit/logger/serving/receiver"
    autoload :Sink, "godwit/logger/serving/sink"

    # Integers: records `queued`, `sent` (handed to libzmq, including those of an earlier process's
    # spool), `dropped` (by overflow, or after the close) and `spooled` (on disk). `last_error`: an
    # Exception, such as an AddressInUseError, or nil.
    Stats = Struct.new(:queued, :sent, :dropped, :spooled, :last_error, keyword_init: true)

    # @param target [String, IO, #write, nil] an endpoint, such as "tcp://loghost:7000"; or what
    #   Ruby's Logger accepts, but no file name
    # @param shift_age [Integer, String] of Ruby's Logger; not for an endpoint
    # @param shift_size [Integer] of Ruby's Logger
    # @param level [Integer, Symbol, String] lowest level that is logged: :debug, :info, :warn,
    #   :error, :fatal, :unknown
    # @param progname [String, nil] the program's name, by which readers select records
    # @param formatter [#call, nil] as for Ruby's Logger; the logging thread calls it. Its line,
    #   without the line end, is the record's text; if it raises or is nil, the message is the text
    # @param datetime_format [String, nil] for lines that the logger itself makes (`wire: :plain`)
    # @param options [Hash] for an endpoint only; all but those below are options of the PUSH socket
    #   (`send_hwm: 10_000`, `curve:`, `server_key:`, `auth:`…)
    # @option options [Symbol] :overflow (:drop_new) when the queue is full: :drop_new, :drop_old,
    #   :block (the caller waits), :spool (to disk). A caller first waits up to half a second for
    #   space, unless the socket has accepted nothing while callers waited for a second
    # @option options [Integer] :queue (100_000) most records in the queue
    # @option options [Integer] :queue_bytes (16_777_216) about the most bytes of memory for queued
    #   records, including those in libzmq's queue
    # @option options [Numeric, nil] :block_timeout (nil) longest wait of `:block`, in seconds; nil:
    #   for ever
    # @option options [Numeric] :linger (5) seconds in which {#close} and exit send queued records
    # @option options [Symbol] :wire (:records) or :plain, one frame with the line, for rsyslog and
    #   old readers
    # @option options [String] :host this machine's name, as readers see it
    # @option options [Boolean] :bind (false) whether to bind the endpoint instead of connecting; a
    #   forked child then cannot log to it
    # @option options [Context] :context nil: the logger makes its own
    # @option options [String, Pathname] :spool folder of `overflow: :spool`, for records that the
    #   socket does not accept within 50 ms. They are sent, in order, before newer ones, or by the
    #   next process that uses the folder. When the folder is full, records are dropped
    # @option options [Integer] :spool_bytes (1 GiB) most bytes in that folder
    # @option options [String, Pathname] :durable folder to which each record is written before the
    #   call returns (in a trap handler, a moment later). The endpoint is a {Receiver}'s: its file
    #   has each record once, even if a process is killed. The socket is a DEALER. A folder is for
    #   one logger; never copy it. Forked children have subfolders in it. `overflow:` (for a full
    #   folder) is :drop_new or :block. `sent` in {#stats} means acknowledged
    # @option options [Integer] :durable_bytes (1 GiB) most bytes in that folder
    # @option options [Boolean] :fsync (false) whether each stored record must survive a power cut
    # @raise [BusyError] when another process, or logger, uses the folder of `durable:`
    # @raise [ArgumentError] for an unknown level or option, a malformed endpoint, or a value that
    #   is not allowed
    # @raise [AddressInUseError] with `bind: true`
    # @raise [UnsupportedError] in a Ractor other than the main one
    def initialize(target = nil, shift_age = 0, shift_size = 1_048_576, level: DEBUG,
      progname: nil, formatter: nil, datetime_format: nil, **options)
      if target.is_a?(::String) && target != File::NULL
        options = options.except(:binmode, :shift_period_suffix, :reraise_write_errors)
        super(nil, level: level, progname: progname)
        @default_formatter = Formatter.new
        @formatter = formatter || @default_formatter
        self.datetime_format = datetime_format
        Handle.open(target, **options) { |handle| @handle = handle }
      else
        super
        @default_formatter = Formatter.new
        @default_formatter.datetime_format = datetime_format
      end
    end

    # Logs a message, if the level is high enough.
    # @param severity [Integer, nil] DEBUG to UNKNOWN; nil: UNKNOWN
    # @param message [Object] a String is the text; an Exception or a Hash also goes as data; of any
    #   other object, the text is its `inspect`
    # @param progname [Object, nil] nil: the logger's own. Without a message and a block, this
    #   argument is the message
    # @param payload [Hash, nil] data to go with it
    # @param keywords [Hash] more data
    # @yieldreturn [Object] the message, if the arguments have none
    # @return [true] with `durable:` whether the record is on the disk: false if it was dropped and
    #   counted (no space, or closed), nil in a trap handler, whose record is stored a moment later
    def add(severity, message = nil, progname = nil, payload = nil, **keywords, &block)
      handle = @handle
      unless handle
        payload = Text.merge(payload, keywords) unless keywords.empty?
        return super(severity, message, progname, &block) unless payload
        return super(severity) { Text.with(progname, payload) } if NilClass === message && !block
        return super(severity, nil, progname) do
          Text.with((NilClass === message) ? yield : message, payload)
        end
      end
      severity ||= UNKNOWN
      return true if severity < level
      severity = UNKNOWN if Integer === severity && severity > UNKNOWN
      progname = @progname if NilClass === progname # `===` calls no method of the program's object
      if NilClass === message
        if block
          message = yield
        else
          message = progname
          progname = @progname
        end
      end
      payload = Text.merge(payload, keywords) unless keywords.empty?
      formatter = @formatter || @default_formatter
      Entry.log(handle, severity, progname, message, payload, formatter, @default_formatter)
    end
    alias_method :log, :add

    # @!macro [new] add_at_level
    #   @param progname [Object, nil] the message; with a block, the program's name
    #   @param payload [Hash, nil] data to go with it
    #   @param keywords [Hash] more data; without other arguments, they are the message
    #   @return [true] as {#add}
    # @!method debug(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level DEBUG.
    #   @!macro add_at_level
    # @!method info(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level INFO.
    #   @!macro add_at_level
    # @!method warn(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level WARN.
    #   @!macro add_at_level
    # @!method error(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level ERROR.
    #   @!macro add_at_level
    # @!method fatal(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level FATAL.
    #   @!macro add_at_level
    # @!method unknown(progname = nil, payload = nil, **keywords, &block)
    #   {#add} at level UNKNOWN.
    #   @!macro add_at_level
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
    # @return [Integer, nil] the message's bytes; without an endpoint, as Ruby's Logger
    def <<(message)
      return super unless @handle
      text = Text.name(message)
      Entry.log_text(@handle, UNKNOWN, @progname, Text.line(text))
      text.bytesize
    end

    # Adds tags during the block, in this fiber. Without a block it returns a logger that always has
    # the tags and shares all else. Records carry the tags beside the text. Without an endpoint, or
    # with `wire: :plain`, a formatter gets the tags before the text: "[req-9] text".
    # @param tags [Array<Object>]
    # @yieldparam logger [Logger] this logger
    # @return [Object] the block's value; without a block, the logger with the tags
    def tagged(*tags)
      if block_given?
        holder = formatter.respond_to?(:tagged) ? formatter : @default_formatter
        holder.tagged(*tags) { yield self }
      else
        clone.tap { |copy| copy.add_tags(tags) }
      end
    end

    # Waits until libzmq has all records that were logged before the call. With `overflow: :spool` a
    # record on the disk counts too; with `durable:` the receiver must have acknowledged the
    # records. A trap handler does not wait, except on JRuby.
    # @param timeout [Numeric, nil] seconds; nil: for ever
    # @return [Boolean] false: some of these records were not sent, or not in time
    # @raise [ArgumentTypeError, ArgumentValueError] when the timeout is no duration
    def flush(timeout: nil) = @handle ? @handle.flush(timeout) : true

    # Sends queued records for at most `linger:` seconds, and ends; a line on $stderr counts the
    # rest. Later records are dropped and counted. A child's close does not affect its parent.
    # @return [nil]
    def close
      return super unless @handle
      @handle.close
      nil
    end

    # Opens the logger again after {#close}, or with another endpoint.
    # @param target [String, nil] an endpoint; nil: the same as before
    # @return [self]
    def reopen(target = nil, **)
      return super unless @handle
      @handle.reopen(target.is_a?(::String) ? @handle.settings.at(target) : nil)
      self
    end

    # @return [Stats, nil] of this process; nil without an endpoint. With `durable:` each call
    #   counts once, as `queued`, `sent` or `dropped`; records that report drops are not counted.
    #   `queued` includes the records that an earlier process left in the folder
    def stats = @handle&.stats

    # @return [String] endpoint and level
    def inspect
      return super unless @handle
      closed = " (closed)" if @handle.closed?
      "#<#{self.class} #{@handle.settings.endpoint} level=#{level}#{closed}>"
    end

    protected

    # Adds tags. A formatter of the program's own cannot store tags: then the default formatter
    # stores them, but formats nothing.
    def add_tags(tags)
      own = @formatter.instance_of?(Formatter)
      holder = own ? @formatter : @default_formatter
      tagged = holder.tagged(*tags) { holder.clone }
      @default_formatter = tagged unless own && !holder.equal?(@default_formatter)
      @formatter = tagged if own
    end

    private

    def format_message(severity, datetime, progname, msg)
      own = @formatter.nil? || @formatter.instance_of?(Formatter)
      super(severity, datetime, progname, own ? msg : @default_formatter.with_tags(msg))
    end
  end
end
