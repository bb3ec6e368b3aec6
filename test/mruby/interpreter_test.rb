# frozen_string_literal: true

require_relative "support/mruby_case"

# The program mruby-godwit: its arguments and its exit. One test uses the mrbgem in a C program.
class MRubyInterpreterTest < MRubyCase
  def file(source)
    "#{scratch_dir}/program.rb".tap { |path| File.write(path, source) }
  end

  def assert_ends(status, result)
    assert_equal status, result.status.exitstatus, result.to_s
    result
  end

  test "FILE, -e CODE, --version" do
    result = assert_ends 0, run_mruby(file("p ARGV, $0.size > 3, Godwit::BACKEND"), "a", "-b")
    assert_equal "[\"a\", \"-b\"]\ntrue\n:mruby\n", result.stdout
    assert_equal "[\"x\"]\n", assert_ends(0, run_mruby("-e", "p ARGV", "x")).stdout
    assert_match(/\Agodwit #{Godwit::VERSION} \(mruby \d\.\d\.\d, libzmq \d\.\d\.\d\)\n\z/o,
      assert_ends(0, run_mruby("--version")).stdout)
  end

  test "an uncaught error and a syntax error are 1, with file and line; wrong usage is 2" do
    bind = file("a = 1\nGodwit::PULL.bind('tcp:/x')\n")
    usage = /usage: mruby-godwit|cannot read/
    [
      [1, /program.rb:2.*\bbind tcp:\/x: Malformed endpoint .* \(Godwit::EndpointError\)/m, bind],
      [1, /: recv: Timed out .* \(Godwit::TimeoutError\)$/, "-e",
        "Godwit::PULL.new.recv(timeout: 0)"],
      [1, /-e:1.*x \(RuntimeError\)/, "-e", "raise 'x'"],
      [2, usage], [2, usage, "--wrong"], [2, usage, "-e"], [2, usage, "/no/such/file.rb"],
      [2, usage, "/"]
    ].each do |status, text, *arguments|
      result = assert_ends status, run_mruby(*arguments)
      assert_match text, result.stderr
      refute_includes result.stderr, "unknown error"
    end
    assert_match(/program\.rb:2/, assert_ends(1, run_mruby(file("1\n2 )\n"))).stderr)
  end

  test "its end sends unsent messages, also after an error and by exit" do
    pull = open_socket(:PULL).bind("tcp://127.0.0.1:*")
    code = "Godwit::PUSH.connect('#{pull.last_endpoint}') << 'last'"
    # The mruby of Debian 12 has no `exit`.
    by_exit = "#{code}; respond_to?(:exit, true) ? exit(1) : raise"
    [[0, code], [1, "#{code}; raise 'x'"], [1, by_exit]].each do |status, program|
      assert_ends status, run_mruby("-e", program)
      assert_equal "last", pull.recv(timeout: 5)
    end
  end

  test "a host program's own Ruby code may run before godwit_mruby_open" do
    source = "#{scratch_dir}/app.c"
    File.write(source, <<~C)
      #include <godwit.h>
      #include <mruby/compile.h>
      int main(int argc, char **argv) {
          mrb_state *mrb = mrb_open();
          if (argc > 1) mrb_load_string(mrb, argv[1]);
          godwit_mruby_open(mrb);
          if (mrb->exc) mrb_print_error(mrb);
          else mrb_load_string(mrb, "puts Godwit::PULL.bind('inproc://app').last_endpoint");
          mrb_close(mrb);
          return 0;
      }
    C
    program = MRubyBuild.new.program(source)
    app = ->(*code) { assert_child(start_command([program, *code]).finish) }
    assert_equal "inproc://app\n", app.call.stdout
    taken = app.call("Godwit = 1")
    assert_equal ["TypeError", ""], [taken.stderr[/TypeError/], taken.stdout]
    assert_equal "inproc://app\n", app.call("module Godwit; module Wait; end; end").stdout
  end
end
