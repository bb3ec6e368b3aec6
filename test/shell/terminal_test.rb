# frozen_string_literal: true

require_relative "shell_case"

# Commands that use the terminal, as ssh, sudo, pagers and editors do: each program here runs in a
# separate terminal.
class TerminalTest < ShellCase
  ASKS = 'sh", "-c", "printf name?; read name < /dev/tty; echo hello $name'

  test "foreground: gives the command the terminal" do
    not_on :jruby, "JRuby gives a child no terminal"
    with_program(%(p Godwit::Shell.rows("#{ASKS}", foreground: true).to_a)) do |terminal|
      terminal.write("Anna\n")
      assert_match(/"name\?hello Anna"/, rest_of(terminal))
    end
  end

  test "foreground: its stdin is the process's own, and of a pipeline too" do
    not_on :jruby, "JRuby gives a child no terminal"
    program = %(p Godwit::Shell.pipe(%w[head -n 1], %w[tr a-z A-Z], foreground: true).to_a)
    with_program(program) do |terminal|
      terminal.write("anna\n")
      assert_match(/\["ANNA"\]/, rest_of(terminal))
    end
  end

  test "Ctrl-C reaches the command in the foreground and the program" do
    not_on :jruby, "JRuby gives a child no terminal"
    program = <<~RUBY
      begin
        Godwit::Shell.rows(
          "sh", "-c",
          "trap 'echo caught > #{scratch_dir}/caught; exit' INT; echo up; while :; do sleep 0.1; " \
          "done",
          foreground: true
        ) { |row| puts row }
      rescue Interrupt
        puts "interrupted"
      end
    RUBY
    with_program(program) do |terminal|
      read_until(terminal, "up")
      terminal.write("\x03")
      assert_match(/interrupted/, rest_of(terminal))
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
      with_program(program) do |terminal|
        output = rest_of(terminal)
        assert_match(/#{method} sh -c.*uses the terminal, and was stopped.*foreground: true/m,
          output)
        assert_includes output, "children: 0"
      end
    end
  end

  test "a command that is stopped by another signal is no error, and continues" do
    not_on :jruby, "JRuby gives a child no terminal"
    program = <<~RUBY
      rows = Godwit::Shell.rows("sh", "-c", "echo $$; kill -STOP $$; echo on")
      pid = Integer(rows.next)
      # It is looked at meanwhile.
      Thread.new { await { File.read("/proc/\#{pid}/stat")[/\\) (\\w)/,
        1] == "T" }; sleep 1; Process.kill(:CONT, pid) }
      p rows.next
    RUBY
    with_program(program) { |terminal| assert_match(/"on"/, rest_of(terminal)) }
  end

  private

  # In a new session, whose terminal is yielded.
  def with_program(source)
    command = [
      RbConfig.ruby, "--disable=gems", "-Ilib", "-r./test/support/child_prelude", "-e",
      "require 'godwit'\n#{source}"
    ]
    reading, writing, pid =
      PTY.spawn(
        Godwit::TestSupport::Children::NO_BUNDLER, *command,
        chdir: Godwit::TestSupport::Children::ROOT
      )
    own(reading)
    own(writing)
    yield TerminalEnd.new(reading, writing)
  ensure
    end_program(pid) if pid
  end

  def end_program(pid)
    Process.kill(:KILL, pid)
    Process.wait(pid)
  rescue Errno::ESRCH, Errno::ECHILD
    nil
  end

  TerminalEnd = Struct.new(:reading, :writing) do
    def write(text) = writing.write(text)
  end

  def read_until(terminal, text)
    seen = +""
    seen << terminal.reading.readpartial(1000) until seen.include?(text)
    seen
  end

  # Until the program ends, as EIO says on Linux.
  def rest_of(terminal)
    seen = +""
    loop { seen << terminal.reading.readpartial(1000) }
  rescue Errno::EIO, EOFError
    seen
  end
end
