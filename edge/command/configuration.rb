# frozen_string_literal: true

require "etc"

module GodwitEdge
  # The texts for nginx.conf.
  class Configuration
    # The app's file that runs a file of tests.
    TESTS = File.expand_path("../test/tests.rb", __dir__)

    # @param options [Options]
    # @param module_path [String]
    def initialize(options, module_path)
      @options = options
      @module = module_path
    end

    # @return [String] for the user's own nginx.conf
    def lines
      <<~TEXT
        # at the top of nginx.conf
        #{module_lines}

        # in a server
        #{location}
      TEXT
    end

    # @return [String] a whole nginx.conf
    def server(prefix) = <<~TEXT
      #{common(prefix)}
      worker_processes #{@options.workers};
      http {
          #{temporary(prefix)}
          server {
              listen 127.0.0.1:#{@options.port};
              #{location}
              #{"location / { return 404; }" unless @options.mount == "/"}
          }
      }
    TEXT

    # @return [String] a whole nginx.conf, for a process without a TCP listener that ends when the
    #   file has run
    def check(prefix, file = @options.app) = <<~TEXT
      #{common(prefix)}
      master_process off;
      http {
          #{temporary(prefix)}
          godwit_check on;
          server {
              listen #{quoted("unix:#{prefix}/check.sock")};
              #{location(file)}
          }
      }
    TEXT

    # @return [String] likewise, for a file of tests
    def test(prefix) = <<~TEXT
      env #{quoted("GODWIT_EDGE_TESTS=#{File.expand_path(@options.app)}")};
      #{check(prefix, TESTS)}
    TEXT

    private

    def module_lines = "load_module #{quoted(@module)};\nenv REDIS_URL;"

    def common(prefix) = <<~TEXT
      #{module_lines}
      daemon off;
      #{user}
      pid #{quoted("#{prefix}/nginx.pid")};
      error_log stderr warn;
      events {}
    TEXT

    # Workers of root's nginx would be nobody, which may not read the file.
    def user
      return unless Process.euid.zero?
      "user #{Etc.getpwuid.name} #{Etc.getgrgid(Process.egid).name};"
    end

    def temporary(prefix)
      names = %w[client_body proxy fastcgi uwsgi scgi]
      names.map { |name| "#{name}_temp_path #{quoted("#{prefix}/#{name}")};" }
        .unshift("access_log off;").join("\n    ")
    end

    def location(file = @options.app) = <<~TEXT.chomp
      location #{@options.mount} {
          godwit_app #{quoted(File.expand_path(file))};
          godwit_timeout #{duration};
      }
    TEXT

    # nginx has whole milliseconds.
    def duration
      seconds = @options.timeout
      (seconds == seconds.to_i) ? "#{seconds.to_i}s" : "#{(seconds * 1000).round}ms"
    end

    def quoted(text)
      return text if text.match?(%r{\A[\w./:+@~=-]+\z})
      "\"#{text.gsub(/["\\]/) { |char| "\\#{char}" }}\""
    end
  end
end
