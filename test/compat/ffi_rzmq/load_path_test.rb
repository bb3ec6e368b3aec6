# frozen_string_literal: true

require "json"
require_relative "ffi_rzmq_case"

# When the layer for ffi-rzmq loads, and which constants it defines. A program that does not load
# the layer gets the constants of the gem ffi-rzmq.
class FFIRzmqLoadPathTest < FFIRzmqCase
  SHOWN = <<~RUBY
    require "json"
    require "ffi-rzmq"
    classes = %w[
      Context Socket Message ManagedMessage Poller PollItem PollItems Device Proxy Util ZeroMQError
      ContextError MessageError NotSupportedError
    ]
    methods = classes.to_h do |name|
      klass = ZMQ.const_get(name)
      instance_methods = klass.public_instance_methods - Object.public_instance_methods
      [name, [instance_methods, klass.singleton_methods(false)]]
    end
    numbers = ZMQ.constants.to_h { |name| [name, ZMQ.const_get(name)] }
    numbers.select! { |_, value| value.is_a?(Integer) }
    arities = {
      Socket: %i[setsockopt getsockopt send_string recv_string recv_multipart recvmsgs sendmsgs],
      Poller: %i[poll register deregister]
    }.to_h do |name, list|
      [name, list.map { |method| ZMQ.const_get(name).instance_method(method).arity }]
    end
    puts JSON.generate([methods, numbers, arities, ZMQ.singleton_methods])
  RUBY

  # The layer omits pointers to libzmq's structs, and methods that only the gem's own loading needs.
  LEFT_OUT = {
    "PollItem" => [%w[pointer poll_item poll_item= socket= fd=], %w[from_pointer]],
    "PollItems" => [%w[address], []], "Socket" => [[], %w[close]], "Context" => [[], %w[close]],
    "ManagedMessage" => [[], %w[close]],
    "Util" => [[], %w[random_port raise_error eagain? context_error? message_error?]]
  }.freeze

  def shown(runtime)
    JSON.parse(assert_child(run_old(SHOWN, on: runtime)).stdout)
  end

  test "it has the methods and the numbers that the gem has" do
    gem_methods, gem_numbers, gem_arities, = shown(:gem)
    methods, numbers, arities, = shown(:native)
    assert_equal gem_numbers, numbers.slice(*gem_numbers.keys)
    assert_operator numbers.size, :>=, 150
    assert_equal gem_arities, arities
    gem_methods.each do |name, (instance, singleton)|
      klass = methods.fetch(name)
      without = LEFT_OUT.fetch(name, [[], []])
      assert_empty instance - klass[0] - without[0], "ZMQ::#{name}#"
      assert_empty singleton - klass[1] - without[1], "ZMQ::#{name}."
    end
  end

  test "without the layer the gem is the gem, and a layer that is loaded after it raises" do
    program = <<~RUBY
      require "godwit"
      require "ffi-rzmq"
      puts $LOADED_FEATURES.grep(%r{/ffi-rzmq\\.rb$}), defined?(Godwit::Compat::FFIRzmq).inspect
      require "godwit/compat/ffi_rzmq"
    RUBY
    result = run_child(program, gems: true)
    refute result.success?
    assert_match(%r{/ffi-rzmq-[\d.]+/lib/ffi-rzmq\.rb\nnil\n\z}, result.stdout)
    assert_match(/another gem has defined module ZMQ already: .*before it/m, result.stderr)
  end

  test "the layer wins over the gem, also with Bundler, without a warning; twice is once" do
    program = <<~RUBY
      ENV["BUNDLE_GEMFILE"] ||= File.expand_path("Gemfile")
      require "bundler/setup"
      load "godwit/compat/ffi_rzmq.rb"
      require "ffi-rzmq-core"
      require "ffi-rzmq"
      load "godwit/compat/ffi_rzmq.rb"
      puts $LOADED_FEATURES
             .grep(/ffi-rzmq(-core)?\\.rb$/)
             .map { |path| path.delete_prefix(Dir.pwd) }
             .sort,
           ZMQ::Context.instance_method(:godwit).name,
           $LOAD_PATH.grep(%r{compat/load_path}).size
      ZMQ::Poller.new
      LibZMQ.version
    RUBY
    expected =
      "/lib/godwit/compat/load_path/ffi_rzmq/ffi-rzmq-core.rb\n" \
      "/lib/godwit/compat/load_path/ffi_rzmq/ffi-rzmq.rb\ngodwit\n1\n"
    [[], ["-rbundler/setup"]].each do |first|
      child = start_command([RbConfig.ruby, "-W", "-Ilib", *first, LAYER, "-e", program])
      result = assert_child(child.finish)
      assert_equal [expected, ""], [result.stdout, result.stderr]
    end
  end

  test "neither the gem nor the gem ffi is needed" do
    program = <<~RUBY
      require "ffi-rzmq"
      begin
        require "ffi"
      rescue LoadError
        puts "no ffi"
      end
      message = ZMQ::Message.new("h\\0llo")
      data = message.data.put_bytes(1, "e")
      p data.read_string(5), data.read_string, data.read_bytes(2), data.get_bytes(3, 2), data.null?,
        message.copy_out_string
      [
        -> { data.get_bytes(4, 2) }, -> { data.put_bytes(5, "x") }, -> { message.address.to_ptr },
        -> { LibZMQ.zmq_ctx_get(1, 2) }
      ].each do |call|
        call.call
      rescue IndexError, ZMQ::NotSupportedError => error
        puts error.message
      end
    RUBY
    command = [RbConfig.ruby, "--disable-gems", "-Ilib", LAYER, "-e", program]
    result = assert_child(start_command(command, env: {"GODWIT_BACKEND" => nil}).finish)
    assert_equal ["no ffi", '"hello"', '"hello"', '"he"', '"lo"', "false", '"hello"'],
      result.stdout.lines(chomp: true).first(7)
    ["2 bytes from 4 on, of 5", "1 bytes from 5 on, of 5", "install it", "no zmq_ctx_get"].zip(
      result.stdout.lines.drop(7)
    ) { |words, line| assert_includes line, words }
  end

  test "the gem ffi is there for programs that name it" do
    program = <<~RUBY
      require "ffi-rzmq"
      puts FFI::MemoryPointer.new(:int).write_int(7).read_int
      module ZMQ; puts FFI::Pointer.new(5).address; end
    RUBY
    [:gem, *RUNTIMES.reject { |_, why_not| why_not }.keys].each do |runtime|
      assert_equal "7\n5\n", assert_child(run_old(program, on: runtime)).stdout, runtime
    end
  end
end
