# frozen_string_literal: true

require_relative "debian_source"

module Godwit
  # A Debian in a folder of the user's cache, with packages of its own. Commands run in it in
  # namespaces of their own, so that no mount and no process outlives a command.
  class DebianRoot
    Failure = DebianSource::Failure
    ENVIRONMENT = {
      "HOME" => "/root", "PATH" => "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL" => "C.UTF-8",
      "DEBIAN_FRONTEND" => "noninteractive"
    }.freeze
    PROXIES = %w[http_proxy https_proxy no_proxy].freeze
    # A mirror may be a snapshot, some weeks old.
    APT = <<~CONF
      Acquire::Check-Valid-Until "false";
      Acquire::Languages "none";
      APT::Install-Recommends "false";
    CONF
    # The folder of {#work}, in the root.
    INSIDE = "/godwit"
    private_constant :ENVIRONMENT, :PROXIES, :APT

    # @return [String, nil] why there can be none
    def self.missing
      return "root is needed, for debootstrap and chroot" unless Process.uid.zero?
      return "Debian is needed: this system has no apt-get" unless DebianSource.installed("apt-get")
      lost = %w[debootstrap setpriv unshare].reject { |name| DebianSource.installed(name) }
      "#{lost.join(" and ")} not found: apt-get install debootstrap util-linux" if lost.any?
    end

    # @param suite [String] such as trixie
    # @param packages [Array<String>]
    # @param newer [String, nil] another suite, which the packages come from
    def initialize(suite, packages, newer: nil)
      @suite = suite
      @packages = packages
      @newer = newer
    end

    # @return [String] in the cache
    def name = ["root", @suite, *@packages].join("-")

    # Makes it unless it is there.
    # @return [String]
    # @raise [Failure]
    def folder
      @folder ||= DebianSource.keep(name) do |_, result|
        warn "making a Debian #{@suite} with #{@packages.join(", ")}"
        bootstrap(result)
        install(result)
      end
    end

    # One user of the root at a time.
    # @yieldparam folder [String] of {INSIDE}: empty, and removed afterwards
    def work
      File.open("#{folder}.work", File::RDWR | File::CREAT) do |lock|
        lock.flock(File::LOCK_EX)
        place = "#{folder}#{INSIDE}"
        FileUtils.rm_rf(place)
        FileUtils.mkdir_p(place)
        yield place
      ensure
        FileUtils.rm_rf(place)
      end
    end

    # @param root [String]
    # @return [String] the command's output
    # @raise [Failure] with the end of it
    def run(*command, chdir: "/", env: {}, root: folder)
      self.class.isolated("--mount-proc=#{root}/proc",
        *inside(*command, chdir: chdir, env: env, root: root))
    end

    # @return [Array<String>] a command that runs this one in the root, without isolation
    def inside(*command, chdir: "/", env: {}, root: folder)
      ["chroot", root, *environment(chdir, env), *command]
    end

    # Mounts an overlay of the root, and a folder of this machine in it. Names are looked up, and
    # servers trusted, as on this machine.
    FRESH = <<~SH
      root=$1 scratch=$2 inside=$3 source=$4
      shift 4
      mkdir "$scratch/upper" "$scratch/work" "$scratch/root"
      mount -t overlay overlay \
        -o "lowerdir=$root,upperdir=$scratch/upper,workdir=$scratch/work" "$scratch/root"
      mount -t proc proc "$scratch/root/proc"
      mkdir -p "$scratch/root$inside"
      mount --bind "$source" "$scratch/root$inside"
      cp /etc/resolv.conf "$scratch/root/etc/"
      cp /etc/ssl/certs/ca-certificates.crt "$scratch/root/etc/ssl/certs/"
      exec chroot "$scratch/root" "$@"
    SH
    private_constant :FRESH

    # Runs a script of the shell on a copy of the root, which is gone afterwards.
    # @param source [String] the folder of this machine that is {INSIDE} there
    # @return [String] the script's output
    # @raise [Failure] with the end of it
    def run_fresh(script, source:)
      Dir.mktmpdir do |scratch|
        self.class.isolated("sh", "-euc", FRESH, "sh", folder, scratch, INSIDE, source,
          *environment(INSIDE), "sh", "-euc", script)
      end
    end

    # @private
    # Ends the command and what it has started, also when this thread is interrupted, or the process
    # is killed.
    def self.isolated(*command)
      reader, writer = IO.pipe
      pid = spawn("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork",
        "--kill-child", *command, in: File::NULL, out: writer, err: writer)
      writer.close
      output = reader.read
      status = Process.wait2(pid).last
      pid = nil
      return output if status.success?
      raise Failure, "#{command.join(" ")} failed:\n#{output.lines.last(15).join}"
    ensure
      reader&.close
      if pid
        Process.kill(:KILL, pid)
        Process.wait(pid)
      end
    end

    private

    # @return [Array<String>] a command that runs another
    def environment(chdir, env = {})
      all = ENVIRONMENT.merge(ENV.to_h.slice(*PROXIES), env).map { |pair| pair.join("=") }
      ["env", "-i", "-C", chdir, *all]
    end

    def bootstrap(root)
      self.class.isolated("debootstrap", "--variant=minbase", "--include=ca-certificates", @suite,
        root, DebianSource.mirror)
      File.write("#{root}/etc/apt/apt.conf.d/90godwit", APT)
      FileUtils.cp("/etc/resolv.conf", "#{root}/etc/resolv.conf")
    end

    def install(root)
      if @newer
        File.write("#{root}/etc/apt/sources.list.d/newer.list",
          "deb #{DebianSource.mirror} #{@newer} main\n")
        run("apt-get", "update", root: root)
      end
      run("apt-get", "install", "-y", *(["-t", @newer] if @newer), *@packages, root: root)
      run("apt-get", "clean", root: root)
    end
  end
end
