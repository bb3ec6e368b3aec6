# frozen_string_literal: true

require_relative "support/mruby_case"

# The program mruby-godwit: what it takes and how it ends. And the library in a program of a user's.
class MRubyInterpreterTest < MRubyCase
  def file(source)
    "#{scratch_dir}/program.rb".tap { |path| File.write(path, source) }
  end

  def assert_ends(status, result)
    assert_equal status, result.status.exitstatus, result.to_s
    result
  end

  test "FILE and its arguments" do
    result = assert_ends 0, run_mruby(file("p ARGV, $0.size > 3, Godwit::BACKEND"), "a", "-b")
    assert_equal "[\"a\", \"-b\"]\ntrue\n:mruby\n", result.stdout
  end

  test "-e CODE and its arguments" do
    assert_equal "[\"x\"]\n", assert_ends(0, run_mruby("-e", "p ARGV", "x")).stdout
  end

  test "--version" do
    result = assert_ends 0, run_mruby("--version")
    assert_match(/\Agodwit #{Godwit::VERSION} \(mruby \d\.\d\.\d, libzmq \d\.\d\.\d\)\n\z/o,
      result.stdout)
  end

  test "an uncaught error is 1, with file and line" do
    result = assert_ends 1, run_mruby(file("a = 1\nGodwit::PULL.bind('tcp:/x')\n"))
    assert_includes result.stderr, "program.rb:2"
    assert_match(/\bbind tcp:\/x: Malformed endpoint .* \(Godwit::EndpointError\)/, result.stderr)
    result = assert_ends 1, run_mruby("-e", "Godwit::PULL.new.recv(timeout: 0)")
    assert_match(/: recv: Timed out .* \(Godwit::TimeoutError\)$/, result.stderr)
    refute_includes result.stderr, "unknown error"
    result = assert_ends 1, run_mruby("-e", "raise 'x'")
    assert_match(/-e:1.*x \(RuntimeError\)/, result.stderr)
  end

  test "a syntax error is 1, with file and line" do
    assert_match(/program\.rb:2/, assert_ends(1, run_mruby(file("1\n2 )\n"))).stderr)
  end

  test "wrong usage is 2" do
    [[], ["--wrong"], ["-e"], ["/no/such/file.rb"], ["/"]].each do |arguments|
      result = assert_ends 2, run_mruby(*arguments)
      assert_match(/usage: mruby-godwit|cannot read/, result.stderr)
    end
  end

  test "its end sends what is left, also after an error and by exit" do
    pull = open_socket(:PULL).bind("tcp://127.0.0.1:*")
    code = "Godwit::PUSH.connect('#{pull.last_endpoint}') << 'last'"
    # Debian 12's mruby has no exit.
    by_exit = "#{code}; respond_to?(:exit, true) ? exit(1) : raise"
    [[0, code], [1, "#{code}; raise 'x'"], [1, by_exit]].each do |status, program|
      assert_ends status, run_mruby("-e", program)
      assert_equal "last", pull.recv(timeout: 5)
    end
  end

  test "a program of a user's links with the library" do
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
    flags = MRubyBuild.new.flags.grep(/\A-DMRB_/)
    built = self.class.built
    command = [
      "cc", *flags, "-I#{built}", source, "-o", "#{scratch_dir}/app", "-L#{built}",
      "-lmruby-godwit", "-lmruby", "-lzmq", "-lm"
    ]
    assert_child start_command(command).finish
    assert_equal "inproc://app\n", assert_child(start_command(["#{scratch_dir}/app"]).finish).stdout
    # The host program's own Ruby code runs before godwit_mruby_open.
    taken = assert_child(start_command(["#{scratch_dir}/app", "Godwit = 1"]).finish)
    assert_includes taken.stderr, "TypeError"
    assert_equal "", taken.stdout
    before = "module Godwit; module Wait; end; end"
    assert_equal "inproc://app\n",
      assert_child(start_command(["#{scratch_dir}/app", before]).finish).stdout
  end
end
