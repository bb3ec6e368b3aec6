# frozen_string_literal: true

# The options' part of api/generate.rb: their table, accessors and page.
module Generate
  module_function

  def options_rb(options)
    tables = options.map do |scope, list|
      rows = list.map { |o| "      {#{pairs(o.except(:scope))}}" }.join(",\n")
      <<~RUBY.gsub(/^(?=.)/, "    ")
        # #{scope.capitalize} options by name. Deeply frozen, so that any Ractor may read them.
        #{scope.upcase} = Runtime.shareable([
        #{rows.gsub(/^ {4}/, "")}
        ].to_h { |facts| [facts[:name], Option.new(scope: :#{scope}, **facts)] })
      RUBY
    end
    <<~RUBY
      # frozen_string_literal: true

      #{notice("options.yml")}
      module Godwit
        module Options
      #{tables.join("\n").chomp}
        end
      end
    RUBY
  end

  def accessors_rb(options)
    modules = options.map do |scope, list|
      methods = list.reject { |o| o[:by_hand] }.flat_map { |o| accessors(o) }
      <<~RUBY
        # Readers and writers of the #{scope} options; all call `get` and `set`. Usable from any thread or fiber.
        module #{scope.capitalize}Accessors
        #{methods.join("\n").gsub(/^(?=.)/, "  ").chomp}
        end
      RUBY
    end
    <<~RUBY
      # frozen_string_literal: true

      #{notice("options.yml")}
      module Godwit
        module Options
      #{modules.join("\n").gsub(/^(?=.)/, "    ").chomp}
        end
      end
    RUBY
  end

  def accessors(option)
    name = option[:name]
    facts = "ZMQ_#{option[:const]}#{facts_of(option).map { |fact| "; #{fact}" }.join}"
    see = ->(page) { "# @see #{MAN}/#{page}.html" }
    context = option[:scope] == :context
    methods = []
    if access(option) != :w
      methods << <<~RUBY
        # #{option[:doc]}
        # (#{facts}.)
        # @return [#{ruby_type(option)}] #{meaning(option)}
        # @raise [ClosedError] after close
        #{see.call(context ? "zmq_ctx_get" : "zmq_getsockopt")}
        def #{name} = get(:#{name})
      RUBY
      methods.last << "alias_method :#{name}?, :#{name}\n" if option[:type] == :bool
    end
    if access(option) != :r
      methods << <<~RUBY
        # #{option[:doc]}
        # (#{facts}.)
        # @param value [#{ruby_type(option, writing: true)}] #{meaning(option, writing: true)}
        # @raise [#{(option[:type] == :key) ? "CurveKeyError" : "OptionError"}] when the value is not allowed
        # @raise [ClosedError] after close
        #{see.call(context ? "zmq_ctx_set" : "zmq_setsockopt")}
        def #{name}=(value)
          set(:#{name}, value)
        end
      RUBY
    end
    methods
  end

  # ---- words for both ----

  def facts_of(option)
    facts = []
    facts << "#{option[:types].join(", ")} only" if option[:types]
    facts << "since libzmq #{option[:since]}"
    facts << "draft#{", in builds with drafts only" if option[:gated]}" if option[:draft]
    facts << "in builds with #{option[:needs]} only" if option[:needs]
    facts << timing(option) if access(option) != :r
    facts
  end

  def timing(option)
    return "takes effect at once" if option[:live]
    return "fixed by the first bind or connect" if option[:fixed]
    (option[:scope] == :context) ? "set it before the first socket" : "for later binds and connects"
  end

  def ruby_type(option, writing: false)
    type = case option[:type]
    when :bool then "Boolean"
    when :duration then duration_type(option, writing)
    when :enum then "Symbol"
    when :flags then "Array<Symbol>"
    when :text, :bytes, :key then "String"
    when :prefix then "Integer, String"
    else "Integer"
    end
    (nil_allowed?(option, writing) || (option[:type] == :key && !writing)) ? "#{type}, nil" : type
  end

  def duration_type(option, writing)
    return "Float, Integer" if writing
    (option[:unit] == "s") ? "Integer" : "Float"
  end

  def nil_allowed?(option, writing) = !option[:none].nil? && !(writing && option[:none_reads])

  def meaning(option, writing: false)
    parts = [range(option)].compact
    parts << "nil: #{option[:none_means]}" if nil_allowed?(option, writing)
    parts << "nil: not set" if option[:type] == :key && !writing
    parts << "default #{default(option)}" if option.key?(:default)
    parts.join("; ")
  end

  def range(option)
    low, high = bounds(option)
    case option[:type]
    when :bool
      nil
    when :enum, :flags
      option[:values].keys.map { |k| "`:#{k}`" }.join(", ")
    when :key
      "40 characters of Z85#{" or 32 raw bytes" if access(option) != :r}"
    when :text, :bytes
      "#{low ? "#{low} to " : "up to "}#{high} " \
      "bytes#{", #{option[:format_means]}" if option[:format_means]}"
    when :prefix
      "a number, or 1 to 16 bytes"
    else
      unit = (option[:type] == :duration) ? "seconds" : option[:unit]
      numbers = high ? "#{low} to #{high}" : ("from #{low}" if low)
      [unit, numbers].compact.join(", ").then { |text| text unless text.empty? }
    end
  end

  # In Ruby's units.
  def bounds(option)
    [option[:min], option[:max]].map do |number|
      next number unless number && option[:type] == :duration && option[:unit] == "ms"
      (number % 1000).zero? ? number / 1000 : number / 1000.0
    end
  end

  def default(option)
    own = option[:default]
    own = own.is_a?(Symbol) ? "`:#{own}`" : own.inspect
    others = option.fetch(:default_of, {}).map { |type, value| "#{value} on #{type}" }
    others << "Godwit sets #{option[:godwit]}" if option[:godwit]
    others.empty? ? own : "#{own} (#{others.join(", ")})"
  end

  # ---- pages ----

  def options_md(options)
    sections = options.map do |scope, list|
      rows = list.sort_by { |o| o[:name] }.map do |o|
        cells = [
          "`#{o[:name]}`", "#{o[:const]} #{o[:id]}", ruby_type(o, writing: access(o) != :r),
          meaning(o), access(o),
          "#{o[:doc]}#{" Secret." if o[:secret]} *#{facts_of(o).join("; ")}.*"
        ]
        "| #{cells.map { |cell| cell.to_s.gsub("|", "\\|") }.join(" | ")} |"
      end
      <<~MD
        ## #{scope.capitalize} options

        | name | ZMQ_ | type | values | access | what it does |
        | --- | --- | --- | --- | --- | --- |
        #{rows.join("\n")}
      MD
    end
    <<~MD
      <!-- Generated by rake generate from api/options.yml; do not edit. -->
      # Options

      Options are keywords of the constructors (`Godwit::PUSH.new(send_hwm: 10)`), accessors (`socket.send_hwm = 10`; `ipv6?` for Booleans) and names
      for `get` and `set`.

      * Durations are seconds.
      * Godwit checks names and values before libzmq gets them. A wrong one raises OptionError.
      * An option that this libzmq does not have raises UnsupportedError. *Draft* options may change in libzmq.
      * Access `r` is read only. `w` is write only: libzmq has no getter.
      * Man pages: [zmq_setsockopt](#{MAN}/zmq_setsockopt.html),
        [zmq_getsockopt](#{MAN}/zmq_getsockopt.html),
        [zmq_ctx_set](#{MAN}/zmq_ctx_set.html),
        [zmq_ctx_get](#{MAN}/zmq_ctx_get.html).

      #{sections.join("\n").chomp}
    MD
  end
end
