# frozen_string_literal: true

require "optparse"

module GodwitEdge
  BANNER = <<~TEXT
    usage: godwit-edge APP.rb [options]
           godwit-edge test APP_TEST.rb

    Runs an application of the edge in an nginx of its own, which listens on 127.0.0.1.
    INT and TERM end it. QUIT ends it after its last request. HUP runs the file again.
    Redis is where the environment's REDIS_URL says.
    "test" runs a file of tests without a listener: status 1 if one fails (docs/edge.md).

  TEXT
  MOUNT_RULE = "it begins with /, and has no space, quote, #, $, \\, ;, { or }"
  MOUNT = %r{\A/[^\s{};"'\\$#]*\z}

  # What the command line says. `action` is serve, check, test or print_config.
  Options = Struct.new(:app, :port, :workers, :mount, :timeout, :action) do
    # @param arguments [Array<String>]
    # @return [Options, nil] nil: it has printed its help
    # @raise [OptionParser::ParseError] names the option
    def self.parse(arguments)
      options = new(nil, 8080, 1, "/", 10, :serve)
      help = false
      files = parser(options) { help = true }.parse(arguments)
      return if help
      options.action = :test if files.first == "test" && files.shift
      options.app = application(files)
      options
    end

    def self.parser(options)
      OptionParser.new do |parser|
        parser.banner = BANNER
        numbers(parser, options)
        parser.on("--mount PATH", "location of the application (/)") do |text|
          valid(text, MOUNT_RULE) { text.match?(MOUNT) }
          options.mount = text
        end
        parser.on("--check", "run the file without a listener: status 1 if it fails") do
          options.action = :check
        end
        parser.on("--print-config", "print the lines for your own nginx.conf") do
          options.action = :print_config
        end
        parser.on("-h", "--help", "print this") do
          puts parser
          yield
        end
      end
    end

    def self.numbers(parser, options)
      parser.on("-p", "--port PORT", "listen on 127.0.0.1:PORT (8080)") do |text|
        options.port = number(text, 1, 65_535)
      end
      parser.on("--workers N", "processes, each with a VM: 1 to 256 (1)") do |text|
        options.workers = number(text, 1, 256)
      end
      parser.on("--timeout SECONDS", "then a request gets 504: 0.001 to 86400 (10)") do |text|
        options.timeout = number(text, 0.001, 86_400)
      end
    end

    # @return [Integer, Float] a Float if the range begins with a Float
    def self.number(text, least, most)
      whole = least.is_a?(Integer)
      number = whole ? Integer(text, 10, exception: false) : Float(text, exception: false)
      valid(text, "from #{least} to #{most}") { number&.between?(least, most) }
      number
    end

    def self.application(files)
      raise OptionParser::MissingArgument, "the application's file (see --help)" if files.empty?
      raise OptionParser::NeedlessArgument, files.drop(1).join(" ") if files.size > 1
      file = files.first
      valid(file, "there is no such file") { File.exist?(file) }
      valid(file, "it is no file that can be read") { File.file?(file) && File.readable?(file) }
      file
    end

    # OptionParser puts the option before the argument.
    def self.valid(argument, rule)
      raise OptionParser::InvalidArgument.new(argument, "(#{rule})") unless yield
    end
    private_class_method :parser, :numbers, :number, :application, :valid
  end
end
