# frozen_string_literal: true

require_relative "package_case"

# The platform gem's extension has its own libzmq and libstdc++. They and the system's libraries
# work in the same process.
class OneProcessTest < PackageCase
  EXTENSION = "require \"godwit\"\n"

  # Each program defines a module LibZMQ with the functions of the system's libzmq.
  SYSTEM = {
    "Fiddle" => <<~RUBY,
      require "fiddle"
      module LibZMQ
        pointer, int, size = Fiddle::TYPE_VOIDP, Fiddle::TYPE_INT, Fiddle::TYPE_SIZE_T
        library = Fiddle.dlopen("libzmq.so.5")
        {
          zmq_ctx_new: [pointer], zmq_ctx_set: [int, pointer, int, int],
          zmq_ctx_destroy: [int, pointer], zmq_socket: [pointer, pointer, int],
          zmq_connect: [int, pointer, pointer], zmq_close: [int, pointer],
          zmq_send: [int, pointer, pointer, size, int],
          zmq_recv: [int, pointer, pointer, size, int], zmq_errno: [int]
        }.each do |name, (result, *arguments)|
          function = Fiddle::Function.new(library[name.to_s], arguments, result)
          define_singleton_method(name) { |*given| function.call(*given) }
        end
      end
    RUBY
    "ffi-rzmq" => "require \"ffi-rzmq\"\n"
  }.freeze

  PROGRAM = <<~RUBY
    # The system's libzmq sends a request to a server of the extension's libzmq.
    def exchange
      context = LibZMQ.zmq_ctx_new
      req = LibZMQ.zmq_socket(context, 3)
      Godwit::REP.bind("tcp://127.0.0.1:*") do |rep|
        LibZMQ.zmq_connect(req, rep.last_endpoint)
        LibZMQ.zmq_send(req, "ping", 4, 0)
        rep.send(rep.recv(timeout: 30).upcase)
        LibZMQ.zmq_recv(req, answer = "-" * 4, 4, 0)
        abort "the answer is \#{answer}" unless answer == "PING"
      end
      LibZMQ.zmq_close(req)
      LibZMQ.zmq_ctx_destroy(context)
      Godwit::SERVER.bind("inproc://drafts", &:close)
    end

    # No memory suffices for so many I/O threads: operator new throws, and libzmq catches it.
    MANY = 2_000_000_000

    def throw_in_system
      context = LibZMQ.zmq_ctx_new
      LibZMQ.zmq_ctx_set(context, 1, MANY)
      made = LibZMQ.zmq_socket(context, 3)
      said = LibZMQ.zmq_errno
      full = made.null? && said == Errno::ENOMEM::Errno
      abort "no exception: \#{made.inspect}, \#{said}" unless full
      LibZMQ.zmq_ctx_destroy(context)
    end

    def throw_in_extension
      Godwit::Context.new do |context|
        context.send(:_set_option, 1, MANY)
        context.socket(:REQ)
      end
      abort "no exception"
    rescue Errno::ENOMEM
      nil
    end

    Process.setrlimit(:AS, 4 << 30)
    rounds = lambda do
      exchange
      throw_in_system
      exchange
      throw_in_extension
      exchange
    end
    rounds.call
    Process.wait(fork(&rounds))
    abort "after fork: \#{$?}" unless $?.success?
    rounds.call
    loaded = File.read("/proc/self/maps").scan(%r{\\S*(?:libzmq|godwit_ext|libstdc\\+\\+)[^/\\n]*$})
    puts loaded.uniq.sort, "done"
  RUBY

  # @return [String] the output of a child that loads the platform gem's files
  def said(program, env: {})
    Gem::Package.new(NativeGem.path).extract_files(scratch_dir)
    command = [RbConfig.ruby, "-I#{scratch_dir}/lib", "-e", program]
    own = {"GEM_PATH" => Gem.path.join(":"), "GODWIT_BACKEND" => nil, "BUNDLE_GEMFILE" => nil}
    assert_child(start_command(command, env: {**own, **env}).finish).stdout
  end

  SYSTEM.each do |loader, library|
    [[EXTENSION, library], [library, EXTENSION]].each_with_index do |order, number|
      test "the system's libzmq, by #{loader}, is loaded #{%w[second first][number]}: both work, " \
        "after fork and exceptions too" do
        said = said([*order, PROGRAM].join)
        assert_match(/^done$/, said)
        ["libzmq.so.5", "libstdc++.so.6", "#{scratch_dir}/lib/godwit/"].each do |loaded|
          assert_includes said, loaded
        end
      end
    end
  end

  test "GODWIT_BACKEND=ffi in the platform gem uses the system's libzmq" do
    said = said("#{EXTENSION}puts Godwit::BACKEND, File.read('/proc/self/maps')",
      env: {"GODWIT_BACKEND" => "ffi"})
    assert_match(/\Affi\n/, said)
    assert_match(%r{/libzmq\.so\.5}, said)
    refute_includes said, "godwit_ext.so"
  end
end
