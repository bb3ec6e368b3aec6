# frozen_string_literal: true

require "etc"

module Bench
  # What the figures were measured on and with.
  module Machine
    module_function

    def line
      "#{Etc.nprocessors} cores, #{processor}, " \
      "Linux #{File.read("/proc/sys/kernel/osrelease").strip}, #{memory}, " \
        "load #{File.read("/proc/loadavg").split.first} at the start"
    end

    def processor
      name = File.read("/proc/cpuinfo")[/^model name\s*: (.*)$/, 1] || RbConfig::CONFIG["host_cpu"]
      megahertz = File.read("/proc/cpuinfo")[/^cpu MHz\s*: (\d+)/, 1]
      megahertz ? "#{name} (#{megahertz} MHz)" : name
    end

    def memory
      format("%.0f GiB", File.read("/proc/meminfo")[/MemTotal:\s+(\d+)/, 1].to_i / 1024.0 / 1024.0)
    end

    def date = Time.now.utc.strftime("%Y-%m-%d %H:%M UTC")

    # @return [Hash{String => String}]
    def versions
      {
        "godwit" => godwit,
        "libzmq" => `pkg-config --modversion libzmq`.strip,
        "Ruby" => "#{RUBY_VERSION}p#{RUBY_PATCHLEVEL} (no JIT)",
        "pyzmq" =>
          Programs.missing(:pyzmq) ||
            %x(#{Programs::PYTHON} -c "import zmq, sys; \
              print(zmq.__version__, 'on Python', sys.version.split()[0])").strip,
        "ffi-rzmq" =>
          Programs.missing(:ffi_rzmq) || Gem::Specification.find_by_name("ffi-rzmq").version.to_s,
        "semantic_logger" =>
          Programs.missing(:semantic_logger) ||
            Gem::Specification.find_by_name("semantic_logger").version.to_s,
        "JRuby" => jruby,
        "gcc" => `gcc -dumpfullversion`.strip
      }
    end

    def jruby
      @jruby ||= Godwit::JRuby.missing || IO.popen(Godwit::JRuby.command("--version"), &:read).strip
    end

    def godwit = File.read(File.join(ROOT, "lib/godwit/version.rb"))[/VERSION\s*=\s*"([^"]+)"/, 1]

    # The files of libzmq that the contenders load; more than one would compare libraries, not
    # bindings.
    def libzmqs
      probe = 'puts File.read("/proc/self/maps")[%r{/\S*libzmq\S*}]'
      godwit =
        IO.popen(
          [
            Child::ENVIRONMENT, RbConfig.ruby, "-I", File.join(ROOT, "lib"), "-rgodwit", "-e", probe
          ],
          &:read
        )
      [godwit.strip, File.realpath(`ldd #{Programs.c("thr_push")}`[/libzmq\S* => (\S+)/, 1])].uniq
    end
  end
end
