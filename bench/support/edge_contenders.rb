# frozen_string_literal: true

require_relative "../../rakelib/support/debian_packages"
require_relative "../../rakelib/support/edge_build"
require_relative "pinned_server"
require_relative "work_contenders"

module Bench
  # What bench/edge.rb compares the edge with, and the configuration of each. Debian's programs are
  # unpacked in the user's cache, the others are installed into bench/build.
  module EdgeContenders
    APPS = File.join(FOLDER, "edge")
    GEMFILE = File.join(FOLDER, "gemfiles", "edge", "Gemfile")
    NODE = File.join(BUILD, "node")
    NODE_REDIS = "4.7.1"
    LUA = Godwit::DebianPackages.new("bench-lua", %w[
      libnginx-mod-http-lua libnginx-mod-http-ndk libluajit2-5.1-2 lua-resty-core lua-resty-lrucache
      lua-nginx-redis lua-cjson
    ])
    H2O = Godwit::DebianPackages.new("bench-h2o", %w[h2o])
    KINDS = %i[edge nginx_lua node sinatra h2o].freeze

    module_function

    # Fetches what is not there. A contender that cannot be fetched is absent.
    def install
      @failures = {}
      try(:nginx_lua) { LUA.folder }
      try(:h2o) { H2O.folder }
      try(:node) { install_node } unless File.directory?(node_redis)
      try(:sinatra) { install_gems } unless gems_installed?
    end

    # @return [String, nil] why a contender is not there
    def missing(kind)
      case kind
      when :edge then EdgeBuild.missing
      when :nginx_lua then absent(kind, LUA.fetched?, "lua-nginx-redis")
      when :h2o then absent(kind, H2O.fetched?, "h2o")
      when :node then absent(kind, node?, "Node, or its package redis")
      when :sinatra then absent(kind, gems_installed?, "Sinatra and Puma")
      end
    end

    # @return [Array] command, and keywords of {PinnedServer}
    def nginx(folder, main, http, port)
      program = EdgePrograms.nginx
      path = write(folder, "nginx-#{port}.conf", <<~NGINX)
        #{main}
        daemon off;
        #{"user root;" if Process.uid.zero?}
        worker_processes 1;
        pid #{folder}/nginx-#{port}.pid;
        error_log stderr error;
        env REDIS_URL;
        events { worker_connections 1024; }
        http {
          access_log off;
          keepalive_requests 1000000;
          #{temporary(folder)}
          #{http}
        }
      NGINX
      [program, "-p", "#{folder}/", "-c", path, "-e", "stderr"]
    end

    # The edge with an app for each location.
    # @param apps [Hash{String => String}] location => path
    def edge(folder, apps, port)
      locations = apps.map { |location, path| "location #{location} { godwit_app #{path}; }" }
      nginx(folder, "load_module #{EdgeBuild.new.build};", <<~NGINX, port)
        server { listen 127.0.0.1:#{port}; #{locations.join("\n  ")} }
      NGINX
    end

    def nginx_lua(folder, redis_port, port)
      root = LUA.folder
      modules = %w[ndk_http ngx_http_lua].map do |name|
        "load_module #{root}/usr/lib/nginx/modules/#{name}_module.so;"
      end
      nginx(folder, modules.join("\n"), <<~NGINX, port)
        lua_package_path "#{root}/usr/share/lua/5.1/?.lua;;";
        lua_package_cpath "#{Dir["#{root}/usr/lib/*/lua/5.1"].first}/?.so;;";
        server {
          listen 127.0.0.1:#{port};
          location / { set $redis_port #{redis_port}; content_by_lua_file #{APPS}/redis.lua; }
        }
      NGINX
    end

    # H2O with a file for each path.
    def h2o(folder, apps, port)
      paths = apps.map { |path, file| "      #{path}:\n        mruby.handler-file: #{file}\n" }
      configuration = write(folder, "h2o.conf", <<~YAML)
        #{"user: root" if Process.uid.zero?}
        num-threads: 1
        listen: {host: 127.0.0.1, port: #{port}}
        hosts:
          default:
            paths:
        #{paths.join.chomp}
      YAML
      [H2O.program("h2o"), "-c", configuration]
    end

    def node(redis, port) = ["node", "#{APPS}/redis.js", port.to_s, redis]

    def sinatra(port)
      [
        RbConfig.ruby, "-S", "#{WorkContenders.gem_home}/bin/puma", "-e", "production", "-t", "5:5",
        "-b", "tcp://127.0.0.1:#{port}", "#{APPS}/config.ru"
      ]
    end

    # @return [Hash] for a contender's process
    def environment(kind, redis)
      case kind
      when :edge then EdgePrograms.env(EdgePrograms.nginx).merge("REDIS_URL" => redis)
      when :nginx_lua then libraries(LUA.env, EdgePrograms.env(EdgePrograms.nginx))
      when :h2o then H2O.env.merge("H2O_ROOT" => "#{H2O.folder}/usr")
      when :node then {"NODE_PATH" => "#{NODE}/node_modules"}
      when :sinatra then {"GEM_HOME" => WorkContenders.gem_home, "REDIS_URL" => redis}
      end
    end

    # @return [String] of everything that this machine has
    def versions
      lock = File.read("#{GEMFILE}.lock")
      gems = %w[sinatra puma redis-client].map do |name|
        "#{name} #{lock[/^    #{name} \((.+)\)$/, 1]}"
      end
      redis = EdgePrograms.redis_server
      found = ["nginx #{EdgeBuild.new.version}", "mruby #{MRubyBuild.version}"]
      found << "redis-server #{said(EdgePrograms.env(redis), redis, "--version")[/v=(\S+)/, 1]}"
      found << "Debian's lua-nginx-redis" unless missing(:nginx_lua)
      unless missing(:node)
        found << "Node #{said({}, "node", "--version").strip} with redis #{NODE_REDIS}"
      end
      found.concat(gems) unless missing(:sinatra)
      found << said(H2O.env, H2O.program("h2o"), "--version").lines.first.strip unless missing(:h2o)
      found.join(", ")
    end

    # nginx makes these folders.
    def temporary(folder)
      names = %w[client_body proxy fastcgi uwsgi scgi]
      names.map { |name| "#{name}_temp_path #{folder}/#{name};" }.join(" ")
    end

    def said(env, *command) = IO.popen([Child::ENVIRONMENT.merge(env), *command], &:read)

    def write(folder, name, text) = File.join(folder, name).tap { |path| File.write(path, text) }

    # Its LuaJIT comes before wrk's, which is another one.
    def libraries(*environments)
      {"LD_LIBRARY_PATH" => environments.filter_map { |one| one["LD_LIBRARY_PATH"] }.join(":")}
    end

    def absent(kind, here, name)
      @failures&.[](kind) || ("not there: #{name}; rake bench:edge fetches it" unless here)
    end

    def try(kind)
      warn "edge: fetches #{kind} unless it is there"
      yield
    rescue Godwit::DebianSource::Failure, Failure => error
      @failures[kind] = "not there: #{error.message.tr("\n", " ")}"
    end

    def node? = WorkContenders.program?("node") && File.directory?(node_redis)

    def node_redis = "#{NODE}/node_modules/redis"

    def install_node
      raise Failure, "npm is not installed" unless WorkContenders.program?("npm")
      command = %W[npm install --prefix #{NODE} --no-audit --no-fund redis@#{NODE_REDIS}]
      system(Child::ENVIRONMENT, *command, out: :err) || raise(Failure, "npm install failed")
    end

    def gems_installed? = File.exist?("#{WorkContenders.gem_home}/bin/puma")

    def install_gems
      gems = WorkContenders::GEMS
      settings = {
        "BUNDLE_GEMFILE" => GEMFILE, "BUNDLE_PATH" => gems, "BUNDLE_FROZEN" => "true"
      }
      WorkContenders.unbundled { system(settings, "bundle", "install", out: :err) } ||
        raise(Failure, "bundle install failed")
    end
  end
end
