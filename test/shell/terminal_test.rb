# frozen_string_literal: true

require_relative "shell_case"

# Commands that use the terminal, as ssh, sudo, pagers and editors do. Each program runs in its own
# terminal.
class TerminalTest < ShellCase
  ASKS = 'sh", "-c", "printf name?; read name < /dev/tty; echo hello $name'

  test "foreground: gives the command the terminal" do
    not_on :jruby, "JRuby gives a child no terminal"
    with_program(%(p Godwit::Shell.rows("#{ASKS}", foreground: true).to_a)) do |output, input|
      input.write("Anna\n")
      assert_match(/"name\?hello Anna"/, rest_of(output))
    end
  end

  test "foreground: its stdin is the process's own, and of a pipeline too" do
    not_on :jruby, "JRuby gives a child no terminal"
    program = %(p Godwit::Shell.pipe(%w[head -n 1], %w[tr a-z A-Z], foreground: true).to_a)
    with_program(program) do |output, input|
      input.write("anna\n")
      assert_match(/\["ANNA"\]/, rest_of(output))
    end
  end

  test "Ctrl-C reaches the command in the foreground and the program" do
    not_on :jruby, "JRuby gives a child no terminal"
    script = "trap 'echo caught > #{scratch_dir}/caught; exit' INT; echo up; while :; do sleep " \
      "0.1; done"
    program = <<~RUBY
      begin
        Godwit::Shell.rows(#{script.dump}, shell: true, foreground: true) { |row| puts row }
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    with_program(program) do |output, input|
      assert_match(/^up\r?\n/, output.gets)
      input.write("\x03")
      assert_match(/interrupted/, rest_of(output))
    end
    assert_equal "caught\n", File.read("#{scratch_dir}/caught")
  end

  {rows: ".to_a", run: ""}.each do |method, call|
    test "#{method} of a command that wants the terminal raises, names the option, and ends the " \
      "command" do
      not_on :jruby, "JRuby gives a child no terminal"
      program = <<~RUBY
        begin
          Godwit::Shell.#{method}("#{ASKS}")#{call}
        rescue Godwit::StateError => error
          puts error.message
        end
        puts "children: \#{File.read("/proc/self/task/\#{Process.pid}/children").split.size}"
      RUBY
      with_program(program) do |output|
        said = "and was stopped since it does not have it: give it the terminal by foreground: true"
        assert_match(/#{method} sh -c.*: it uses the terminal, #{said}\s+children: 0/,
          rest_of(output))
      end
    end
  end

  test "a command that is stopped by another signal is no error, and continues" do
    not_on :jruby, "JRuby gives a child no terminal"
    program = <<~RUBY
      rows = Godwit::Shell.rows("sh", "-c", "echo $$; kill -STOP $$; echo on")
      pid = Integer(rows.next)
      Thread.new do
        await { File.read("/proc/\#{pid}/stat")[/\\) (\\w)/, 1] == "T" }
        sleep 1 # the program checks the stopped command during this second
        Process.kill(:CONT, pid)
      end
      p rows.next
    RUBY
    with_program(program) { |output| assert_match(/"on"/, rest_of(output)) }
  end

  private

  # Runs the program in a new session, and yields its terminal.
  def with_program(source)
    command = [RbConfig.ruby, "--disable=gems", "-Ilib", "-r./test/support/child_prelude", "-e",
      "require 'godwit'\n#{source}"]
    reading, writing, pid = PTY.spawn(Godwit::TestSupport::Children::NO_BUNDLER, *command,
      chdir: Godwit::TestSupport::Children::ROOT)
    yield own(reading), own(writing)
  ensure
    end_program(pid) if pid
  end

  def end_program(pid)
    Process.kill(:KILL, pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  # Reads until the program ends, which Linux reports as EIO.
  def rest_of(output)
    seen = +""
    loop { seen << output.readpartial(1000) }
  rescue Errno::EIO, EOFError
    seen
  end
end
