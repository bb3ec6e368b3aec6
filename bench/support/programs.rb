# frozen_string_literal: true

module Bench
  # Finds and builds the programs that are compared. A kind is :c, :godwit, :pyzmq or :ffi_rzmq.
  module Programs
    PYTHON = "/usr/bin/python3"
    FLAGS = %w[-O2 -Wall -Wextra -pthread].freeze

    # What each role is called in C; the other languages have one scheme.
    C_NAMES = {push: "thr_push", pull: "thr_pull", inproc: "inproc_thr", req: "lat_req", rep: "lat_rep", busy: "busy_pull",
               frames_push: "frames_push", frames_pull: "frames_pull", sockets: "sockets",
               proxy: "proxy", queue_push: "queue_push", queue_pull: "queue_pull"}.freeze

    module_function

    # @param role [Symbol] :push, :pull, :inproc, :req, :rep, :busy, :frames_push, :frames_pull, :sockets, :proxy, :queue_push, :queue_pull
    # @return [Array<String>] the command, without its arguments
    def command(kind, role)
      case kind
      when :c then [c(C_NAMES.fetch(role))]
      when :godwit then [RbConfig.ruby, "-I", File.join(ROOT, "lib"), ruby("godwit_#{role}")]
      when :pyzmq then [PYTHON, File.join(FOLDER, "python", "pyzmq_#{role}.py")]
      when :ffi_rzmq then [RbConfig.ruby, *ffi_rzmq_paths.flat_map { |path| ["-I", path] }, ruby("ffi_rzmq_#{role}")]
      end
    end

    def ruby(name) = File.join(FOLDER, "ruby", "#{name}.rb")

    # One of the C programs, built when it is missing or older than its sources, with the system's gcc over the system's libzmq.
    # @return [String] its path
    def c(name)
      @built ||= {}
      @built[name] ||= build(name)
    end

    def build_all = Dir[File.join(FOLDER, "c", "*.c")].sort.map { |source| c(File.basename(source, ".c")) }

    def build(name)
      source = File.join(FOLDER, "c", "#{name}.c")
      target = File.join(BUILD, name)
      sources = [source, *Dir[File.join(FOLDER, "c", "*.h")]]
      return target if File.exist?(target) && sources.all? { |file| File.mtime(file) <= File.mtime(target) }
      FileUtils.mkdir_p(BUILD)
      half = "#{target}.#{Process.pid}"
      libzmq = `pkg-config --cflags --libs libzmq`.split
      raise Failure, "pkg-config does not know libzmq: install libzmq3-dev and pkg-config" if libzmq.empty?
      raise Failure, "gcc could not build bench/c/#{name}.c" unless system("gcc", *FLAGS, "-o", half, source, *libzmq)
      File.rename(half, target) # whole or not at all, should another run be building it too
      target
    end

    # Found by hand: the gem is none of godwit's, and the children run without Bundler.
    def ffi_rzmq_paths
      @ffi_rzmq_paths ||= %w[ffi-rzmq ffi-rzmq-core ffi].flat_map { |name| Gem::Specification.find_by_name(name).full_require_paths }
    end

    # Why a kind cannot run here, or nil. Without C or godwit there is nothing to compare; the two others may be missing.
    def missing(kind)
      case kind
      when :pyzmq then "Debian's python3-zmq is not installed" unless system(PYTHON, "-c", "import zmq", out: File::NULL, err: File::NULL)
      when :ffi_rzmq
        begin
          ffi_rzmq_paths && nil
        rescue Gem::MissingSpecError
          "the gem ffi-rzmq is not in the bundle"
        end
      end
    end
  end
end
