# frozen_string_literal: true

require_relative "../../rakelib/support/jruby"
require_relative "../../rakelib/support/mruby_build"
require_relative "edge_contenders"
require_relative "packaged_gems"
require_relative "work_contenders"

module Bench
  # Finds and builds the programs that are compared. A kind is :c, :godwit, :pyzmq, :ffi_rzmq, or
  # :rbczmq, Godwit's own layer; :semantic_logger; :work, :rows, :karafka and :sidekiq of work.rb,
  # and :work_kafka, :c_kafka, :rdkafka and :waterdrop of work_kafka.rb; those of edge.rb
  # (EdgeContenders); :platform_gem and :source_gem of package.rb;
  # or one of those that runtimes.rb compares:
  # :mruby; :godwit_ffi, :bare_ffi, and :godwit_jruby, :ffi_rzmq_jruby, :bare_ffi_jruby.
  module Programs
    PYTHON = "/usr/bin/python3"
    FLAGS = %w[-O2 -Wall -Wextra -pthread].freeze

    # What each role is called in C; the other languages have one scheme.
    C_NAMES = {
      push: "thr_push", pull: "thr_pull", together: "together", req: "lat_req", rep: "lat_rep",
      busy: "busy_pull", frames_push: "frames_push", frames_pull: "frames_pull", sockets: "sockets",
      curve_push: "curve_push", curve_pull: "curve_pull",
      proxy: "proxy", queue_push: "queue_push", queue_pull: "queue_pull", log_sub: "log_sub"
    }.freeze

    module_function

    # What a kind's programs are called, where that is not its own name.
    LIBRARIES = {
      godwit_ffi: :godwit, godwit_jruby: :godwit, ffi_rzmq_jruby: :ffi_rzmq,
      bare_ffi_jruby: :bare_ffi
    }.freeze
    JRUBY = %i[godwit_jruby ffi_rzmq_jruby bare_ffi_jruby].freeze

    # @param role [Symbol] :runtimes, :push, :pull, :together, :req, :rep, :busy, :frames_push,
    #   :frames_pull, :sockets, :proxy, :queue_push, :queue_pull, :logger, :log_calls, :log_writer,
    #   :log_reader, :log_fair, :log_slow, :log_broadcaster, :log_sub, :shell, :curve_push,
    #   :curve_pull, :handshake_server, :handshake_client, :cert_store, :perf
    # @param root [String] the checkout whose library a :godwit program loads
    # @return [Array<String>] the command, without its arguments
    def command(kind, role, root: ROOT)
      case kind
      when :c
        [c(C_NAMES.fetch(role))]
      when :godwit
        [RbConfig.ruby, "-I", File.join(root, "lib"), *script(:godwit, role)]
      when *PackagedGems::KINDS
        [*PackagedGems.ruby(kind), ruby("godwit_#{role}")]
      when :mruby
        [mruby, File.join(FOLDER, "mruby", "program.rb"), role.to_s]
      when :pyzmq
        [PYTHON, File.join(FOLDER, "python", "pyzmq_#{role}.py")]
      when :rbczmq
        [
          RbConfig.ruby, "-I", File.join(ROOT, "lib"), "-rgodwit/compat/rbczmq",
          ruby("rbczmq_#{role}")
        ]
      when :semantic_logger
        [
          RbConfig.ruby, *load_path(*gem_paths("semantic_logger", "concurrent-ruby")),
          ruby("semantic_logger_#{role}")
        ]
      when :work
        [
          RbConfig.ruby, *load_path(*%w[lib work/lib].map { |path| File.join(root, path) }),
          *load_path(*gem_paths("sqlite3")), ruby("work_#{role}")
        ]
      when :rows
        [RbConfig.ruby, *load_path(*gem_paths("sqlite3")), ruby("rows_#{role}")]
      when :work_kafka
        [
          "env", "GODWIT_LIBRDKAFKA=#{WorkContenders.librdkafka_path}", RbConfig.ruby,
          *load_path(*%w[lib work/lib].map { |path| File.join(root, path) }, *gem_paths("ffi")),
          ruby("work_#{role}")
        ]
      when :c_kafka
        [c("kafka/loop"), WorkContenders.librdkafka_path, role.to_s]
      when :karafka, :sidekiq, :rdkafka, :waterdrop
        settings = WorkContenders.environment.map { |name, value| "#{name}=#{value}" }
        ["env", *settings, RbConfig.ruby, ruby("#{kind}_#{role}")]
      when :ffi_rzmq
        [RbConfig.ruby, *load_path(*ffi_rzmq_paths), *script(:ffi_rzmq, role)]
      when :godwit_ffi
        [
          "env", "GODWIT_BACKEND=ffi", RbConfig.ruby,
          *load_path(File.join(ROOT, "lib"), *gem_paths("ffi")), ruby("godwit_#{role}")
        ]
      when :bare_ffi
        [RbConfig.ruby, *load_path(*gem_paths("ffi")), ruby("bare_ffi_#{role}")]
      when :ffi_rzmq_jruby
        Godwit::JRuby.command(
          *load_path(*gem_paths("ffi-rzmq", "ffi-rzmq-core")), ruby("ffi_rzmq_#{role}")
        )
      when *JRUBY
        Godwit::JRuby.command(
          "-I", File.join(ROOT, "lib"), ruby("#{LIBRARIES.fetch(kind)}_#{role}")
        )
      end
    end

    # @return [String] the interpreter mruby-godwit
    def mruby = @mruby ||= "#{MRubyBuild.new.build}/mruby-godwit"

    def load_path(*folders) = folders.flat_map { |folder| ["-I", folder] }

    def gem_paths(*names)
      names.flat_map { |name| Gem::Specification.find_by_name(name).full_require_paths }
    end

    # The program of both ends is one for all libraries.
    def script(library, role)
      (role == :together) ? [ruby("together"), library, "threads"] : [ruby("#{library}_#{role}")]
    end

    def ruby(name) = File.join(FOLDER, "ruby", "#{name}.rb")

    # One of the C programs, built when it is missing or older than its sources, with the system's
    # gcc over the system's libzmq.
    # @return [String] its path
    def c(name)
      @built ||= {}
      @built[name] ||= build(name)
    end

    def build_all
      Dir[File.join(FOLDER, "c", "*.c")].sort.map { |source| c(File.basename(source, ".c")) }
    end

    def build(name)
      source = File.join(FOLDER, "c", "#{name}.c")
      target = File.join(BUILD, name)
      sources = [source, *Dir[File.join(FOLDER, "c", "*.h")]]
      if File.exist?(target) && sources.all? { |file| File.mtime(file) <= File.mtime(target) }
        return target
      end
      FileUtils.mkdir_p(File.dirname(target))
      half = "#{target}.#{Process.pid}"
      libzmq = `pkg-config --cflags --libs libzmq`.split
      if libzmq.empty?
        raise Failure, "pkg-config does not know libzmq: install libzmq3-dev and pkg-config"
      end
      unless system("gcc", *FLAGS, "-o", half, source, *libzmq)
        raise Failure, "gcc could not build bench/c/#{name}.c"
      end
      File.rename(half, target) # whole or not at all, should another run be building it too
      target
    end

    # Found by hand: the gem is none of godwit's, and the children run without Bundler.
    def ffi_rzmq_paths
      @ffi_rzmq_paths ||= gem_paths("ffi-rzmq", "ffi-rzmq-core", "ffi")
    end

    # Why a kind cannot run here, or nil. Without C or godwit there is nothing to compare; the two
    # others may be missing.
    def missing(kind)
      case kind
      when :pyzmq
        unless system(PYTHON, "-c", "import zmq", out: File::NULL, err: File::NULL)
          "Debian's python3-zmq is not installed"
        end
      when :mruby
        "mruby is not installed (#{MRubyBuild::PACKAGES})" unless MRubyBuild.possible?
      when :ffi_rzmq
        gem_missing("ffi-rzmq") { ffi_rzmq_paths }
      when :semantic_logger
        gem_missing("semantic_logger") { gem_paths("semantic_logger", "concurrent-ruby") }
      when :godwit_ffi, :bare_ffi
        gem_missing("ffi") { gem_paths("ffi") }
      when :work, :rows
        gem_missing("sqlite3") { gem_paths("sqlite3") }
      when :karafka, :sidekiq
        WorkContenders.missing(kind)
      when :rdkafka, :waterdrop
        WorkContenders.missing(:karafka) # which brings them
      when :work_kafka, :c_kafka
        WorkContenders.missing_kafka
      when :ffi_rzmq_jruby
        Godwit::JRuby.missing || gem_missing("ffi-rzmq") { gem_paths("ffi-rzmq", "ffi-rzmq-core") }
      when *JRUBY
        Godwit::JRuby.missing
      when *EdgeContenders::KINDS
        EdgeContenders.missing(kind)
      when *PackagedGems::KINDS
        PackagedGems.missing(kind)
      end
    end

    def gem_missing(name)
      yield && nil
    rescue Gem::MissingSpecError
      "the gem #{name} is not in the bundle"
    end
  end
end
