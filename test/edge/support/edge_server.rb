# frozen_string_literal: true

require "fileutils"
require_relative "server_child"

# An nginx with its own folder.
class EdgeServer
  include ServerChild

  # Options of AddressSanitizer (EdgeBuild.with_address_sanitizer): an error ends the worker.
  SANITIZER =
    if ENV["GODWIT_EDGE_PRELOAD"]
      {
        "LD_PRELOAD" => ENV["GODWIT_EDGE_PRELOAD"],
        "ASAN_OPTIONS" => "detect_leaks=0:abort_on_error=1:log_path=stderr"
      }
    else
      {}
    end
  private_constant :SANITIZER

  # @return [String] lines of the block http{} that put nginx's temporary files into this folder
  def self.temporary(folder)
    %w[client_body proxy fastcgi uwsgi scgi].map { |name| "#{name}_temp_path #{folder}/#{name};" }
      .join("\n")
  end

  attr_reader :port, :folder

  def initialize(test, folder, built, sources, conf: "", server: "", workers: 1,
    env: {}, listen: "")
    @test = test
    @folder = folder
    @port = Godwit::TestSupport::Ports.free
    @env = env
    @workers = workers
    FileUtils.mkdir_p(folder)
    @locations = sources.keys.each_with_index.to_h { |location, index|
      [location, "#{folder}/app#{index}.rb"]
    }
    sources.each { |location, source| write(source, location) }
    File.write(conf_path, configuration(built, conf, server, listen))
  end

  # Renames a new file over the app's file, so no worker reads half of it. Then call {#reload}.
  def write(source, location = "/")
    File.write("#{path(location)}.new", source)
    File.rename("#{path(location)}.new", path(location))
  end

  # Changes nginx.conf. {#reload} makes nginx read it.
  # @yieldparam text [String] the old text; the block returns the new text
  def configure = File.write(conf_path, yield(File.read(conf_path)))

  # @return [String] path of an app's file
  def path(location = "/") = @locations.fetch(location)

  def start
    @child = @test.start_command(command, env: environment, deadline: @test.class.deadline)
    @test.eventually { @child.finished? || ran? }
    self
  end

  def command(*arguments)
    [EdgePrograms.nginx, "-p", @folder, "-c", conf_path, *arguments]
  end

  # @return [Array(String, Process::Status)] output and status of `nginx -t`
  def check = Open3.capture2e(environment, *command("-t"))

  # Reloads the configuration and the apps, by HUP.
  def reload = Process.kill(:HUP, pid)

  # Ends nginx by QUIT, so that it finishes its requests.
  # @return [Result, nil]
  def stop
    return @result if @result || !@child
    @child.signal(:QUIT) unless @child.finished? # nginx may have removed its pid file
    @result = @child.finish
  end

  # @return [Integer] pid of the master process
  def pid = Integer(File.read(pid_path))

  # @return [Array<Integer>] pids of the workers
  def workers = File.read("/proc/#{pid}/task/#{pid}/children").split.map(&:to_i)

  # @return [Integer] resident memory of a worker, in KiB
  def rss(worker = workers.first) = File.read("/proc/#{worker}/status")[/VmRSS:\s+(\d+)/, 1].to_i

  # @return [String] the error log
  def log = File.read(log_path)

  # @return [Array<String>] lines of the access log: status and path
  def accesses = File.readlines("#{@folder}/access.log", chomp: true)

  def url(path = "/") = "http://127.0.0.1:#{@port}#{path}"

  def get(path, headers = {}) = request(Net::HTTP::Get.new(path, headers))

  def post(path, body, headers = {})
    request(Net::HTTP::Post.new(path, {"Content-Type" => "text/plain"}.merge(headers))
      .tap { |one| one.body = body })
  end

  def request(request)
    Net::HTTP.start("127.0.0.1", @port, read_timeout: 60) { |http| http.request(request) }
  end

  # Sends bytes, and reads the answer until the server closes the connection.
  # @return [String]
  def raw(bytes)
    TCPSocket.open("127.0.0.1", @port) do |socket|
      socket.write(bytes)
      @test.ended(@test.in_thread { socket.read }, "nginx keeps the connection")
    end
  end

  private

  def conf_path = "#{@folder}/nginx.conf"
  def pid_path = "#{@folder}/nginx.pid"
  def log_path = "#{@folder}/error.log"
  def environment = EdgePrograms.env(EdgePrograms.nginx).merge(@env, SANITIZER)

  # Whether each worker has run each app's file, or logged its error. nginx listens before that.
  def ran?
    lines = File.exist?(log_path) ? log.lines.grep(/godwit: /) : []
    @locations.each_value.all? { |path| lines.count { |line| line.include?(path) } >= @workers }
  end

  def configuration(built, conf, server, listen)
    locations = @locations.map { |location, path| "location #{location} { godwit_app #{path}; }" }
    <<~NGINX
      load_module #{built};
      daemon off;
      #{"user root;" if Process.uid.zero?}
      worker_processes #{@workers};
      error_log #{log_path} info;
      pid #{pid_path};
      env REDIS_URL;
      events { worker_connections 4096; }
      http {
        log_format short "$status $request_uri";
        access_log #{@folder}/access.log short;
        #{EdgeServer.temporary(@folder)}
        #{conf}
        server {
          listen 127.0.0.1:#{@port} #{listen};
          #{server}
          #{locations.join("\n    ")}
        }
      }
    NGINX
  end
end
