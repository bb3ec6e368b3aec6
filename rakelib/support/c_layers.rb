# frozen_string_literal: true

# The order of the extension's C files (DESIGN.md, "C files depend downward only"): which file calls
# which, and where a call goes up. It also checks the names of static functions, and that only
# transfer.c calls the functions of libzmq that can consume an edge (law 2).
module CLayers
  FOLDER = File.expand_path("../../ext/godwit", __dir__)
  # The mrbgem's files, likewise. They include gem.h alone.
  MRUBY_FOLDER = File.expand_path("../../mruby/src", __dir__)
  MRUBY_ORDER = %w[error closing context socket endpoints options send recv poll gem].freeze
  # Those of godwit-work's extension. They include kafka_ext.h alone.
  KAFKA_FOLDER = File.expand_path("../../work/ext/kafka_ext", __dir__)
  KAFKA_ORDER = %w[library block drain deliveries kafka_ext].freeze
  # Those of the edge. They include edge.h alone.
  EDGE_FOLDER = File.expand_path("../../edge/src", __dir__)
  EDGE_ORDER = %w[
    vm stall memory json wait watch redis app env response stream fetch request variables boot
    reload module
  ].freeze

  # From the lowest layer to the highest. A file may call the files of lower layers, and earlier
  # files of its own layer.
  LAYERS = {
    "core.h" => %w[threads process pool frames inproc native_context],
    "process.h" => %w[error draft_symbols ractor],
    "wait.h" => %w[wait_queue watches peers monitor_events wait],
    "socket.h" => %w[transfer draft_open unsent closing context socket endpoints options],
    "frame.h" => %w[pin frame connected], "message.h" => %w[counts send recv],
    "proxy.h" => %w[poller monitor proxy_loop proxy addressed]
  }.freeze
  ACCELERATORS = %w[
    rbczmq logger_packing logger_payload logger_header logger_queue logger_writers
    logger_statistics shell_rows
  ].freeze
  TOP = "godwit"
  ORDER = [*LAYERS.values.flatten, *ACCELERATORS, TOP].freeze

  # Calls that can consume an edge, and the files that may make them. transfer.c settles after each.
  # The unsettled gw_zmq_* are for handles without waiters: a socket that is being opened or closed,
  # and the monitor's PAIR. endpoints.c settles after its calls.
  EDGES = {
    %w[zmq_msg_recv zmq_msg_send zmq_recv zmq_send zmq_getsockopt zmq_setsockopt] =>
      %w[frames.c core.h],
    %w[gw_zmq_get gw_zmq_set gw_zmq_events gw_zmq_receive gw_zmq_send] =>
      %w[
        transfer.c frames.c core.h socket.h socket.c closing.c unsent.c draft_open.c inproc.c
        monitor_events.c
      ],
    %w[zmq_bind zmq_connect zmq_unbind zmq_disconnect] =>
      %w[endpoints.c inproc.c monitor_events.c]
  }.freeze

  module_function

  # @return [Array<String>] problems, a line each
  def problems(folder = FOLDER)
    files = sources(folder)
    [
      *unknown(files), *upward(files), *includes(files), *prefixes(files), *edges(folder),
      *other_problems(MRUBY_FOLDER, MRUBY_ORDER), *other_problems(KAFKA_FOLDER, KAFKA_ORDER),
      *other_problems(EDGE_FOLDER, EDGE_ORDER)
    ]
  end

  def other_problems(folder, order)
    files = sources(folder)
    [*unknown(files, order), *upward(files, order), *prefixes(files)]
  end

  def sources(folder)
    Dir["#{folder}/*.c"].sort.to_h { |path| [File.basename(path, ".c"), code(path)] }
  end

  def unknown(files, order = ORDER)
    (files.keys - order).map { |name| "#{name}.c is in no layer: rakelib/support/c_layers.rb" }
  end

  # Without comments and the contents of Strings.
  def code(path)
    File
      .read(path)
      .gsub(%r{/\*.*?\*/}m, "")
      .gsub(/"(?:\\.|[^"\\\n])*"/) { |text| text.end_with?(".h\"") ? text : '""' }
  end

  def definitions(files)
    files.each_with_object({}) do |(name, text), found|
      functions = text.scan(/^(?:(?!static)\w[\w *]*?)?(gw_\w+)\([^;{]*\)\s*\{/)
      variables = text.scan(/^(?!static|extern|typedef|\s)[\w ]+ \*?(gw_\w+)(?:\[.*?\])?\s*[=;]/)
      (functions + variables).flatten.each { |symbol| found[symbol] ||= name }
    end
  end

  def upward(files, order = ORDER)
    defined_in = definitions(files)
    files.flat_map do |name, text|
      text.scan(/\bgw_\w+\b/).uniq.filter_map do |symbol|
        target = defined_in[symbol]
        next if target.nil? || target == name
        next if place(target, order) < place(name, order)
        "#{name}.c uses #{symbol} of #{target}.c, which is above it: register a function pointer " \
        "instead"
      end
    end
  end

  def place(name, order) = order.index(name) || order.size

  def includes(files)
    files.filter_map do |name, text|
      header = LAYERS.find { |_, names| names.include?(name) }&.first
      header ||= name.start_with?("logger_") ? "logger.h" : "proxy.h"
      own = text.scan(/^#include "(\w+\.h)"/).flatten
      "#{name}.c includes #{own.join(", ")}: include #{header} alone" unless own == [header]
    end
  end

  # Functions carry the prefix of their file (poller_get in poller.c), so that grep, gdb and perf
  # distinguish them.
  def prefixes(files)
    files.flat_map do |name, text|
      prefix = name.delete_prefix("logger_").delete_prefix("shell_")
      names = text.scan(/^static [^;={(]*?\b(?!_Atomic)(\w+)\(/).flatten.uniq
      names.reject { |function| function.start_with?("#{prefix}_") }
        .map { |function| "#{name}.c: the static function #{function} lacks the prefix #{prefix}_" }
    end
  end

  def edges(folder)
    Dir["#{folder}/*.{c,h}"].sort.flat_map do |path|
      file = File.basename(path)
      text = code(path)
      EDGES.flat_map do |calls, files|
        next [] if files.include?(file)
        text.scan(/\b(?:#{calls.join("|")})\b(?=\()/).uniq.map do |call|
          "#{file} calls #{call}, only #{files.join(", ")} may: call a function of transfer.c, " \
          "which wakes the waiters"
        end
      end
    end
  end
end
