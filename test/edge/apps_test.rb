# frozen_string_literal: true

require_relative "support/edge_case"

# App files: which value is the app, files that raise, several locations, require.
class EdgeAppsTest < EdgeCase
  test "the app is the argument of run, else the last expression, and a file may wait" do
    server = edge({
      "/run/" => <<~RUBY,
        sleep 0.3
        run ->(env) { [200, {}, ["run"]] }
        :not_an_app
      RUBY
      "/last/" => <<~RUBY,
        class Last
          def call(env) = [200, {}, ["last \#{@waited}"]]
          def initialize = @waited = Edge.join(-> { sleep(0.01); 1 }, -> { 2 }).inspect
        end
        Last.new
      RUBY
      "/twice/" => 'run ->(env) { [200, {}, ["first"]] }; run ->(env) { [200, {}, ["second"]] }'
    })
    assert_equal "run", server.get("/run/").body, "a request waits until the file has run"
    assert_equal "last [1, 2]", server.get("/last/").body
    assert_equal "second", server.get("/twice/").body
  end

  test "a file that raises answers 503, and runs again each second" do
    server = edge({
      "/raises/" => <<~RUBY, "/no-app/" => "42", "/mine/" => 'run ->(env) { [200, {}, ["well"]] }'
        file = "#{scratch_dir}/flag"
        sleep 0.01
        raise "no flag" unless File.exist?(file)
        text = File.read(file)
        run ->(env) { [200, {}, [text]] }
      RUBY
    })
    answer = server.get("/raises/")
    assert_equal ["503", "application/json", %({"error":"unavailable"})],
      [answer.code, answer["content-type"], answer.body]
    assert_equal %w[503 200], [server.get("/no-app/").code, server.get("/mine/").code]
    assert_includes server.log, "RuntimeError: no flag (#{server.path("/raises/")}:3"
    assert_includes server.log, "#{server.path("/no-app/")} ends with 42, which has no method call"
    eventually { server.log.scan("no flag").size > 1 }
    File.write("#{scratch_dir}/flag", "it is there")
    server.write('run ->(env) { [200, {}, ["mended"]] }', "/no-app/")
    paths = %w[/raises/ /no-app/]
    eventually { paths.all? { |path| server.log.include?("#{server.path(path)} is ready") } }
    assert_equal ["it is there", "mended"], paths.map { |path| server.get(path).body }
  end

  test "locals of the apps of a worker do not mix" do
    source = <<~RUBY
      %{name} = "%{name}"
      locals = local_variables.inspect
      run ->(env) { [200, {}, [[%{name}, (%{other} rescue "no %{other}"), locals].join(" ")]] }
    RUBY
    server = edge({
      "/one/" => format(source, name: "one", other: "two"),
      "/two/" => format(source, name: "two", other: "one")
    })
    assert_equal ["one no two [:one, :locals]", "two no one [:two, :locals]"],
      %w[/one/ /two/].map { |path| server.get(path).body }
  end

  test "require loads a file beside the app once for each app" do
    File.write("#{scratch_dir}/shared.rb", <<~RUBY)
      hidden = 1
      sleep 0.01
      $loads = $loads.to_i + 1
      class Shared; def self.text = "shared"; end
    RUBY
    File.write("#{scratch_dir}/later.rb", "LATER = 7")
    File.write("#{scratch_dir}/broken.rb", "\n\nraise 'it is broken'")
    File.write("#{scratch_dir}/syntax.rb", "\ndef (")
    source = <<~RUBY + EVALUATES
      first = [require("json"), require("../shared"), require("../shared.rb")]
    RUBY
    edge({"/one/" => source, "/two/" => source})
    %w[/one/ /two/].each do |path|
      expected = [[false, true, false], "shared", 2, "NoMethodError", false]
      assert_equal expected, ask(<<~RUBY, path: path), path
        hidden_here = outcome { hidden }.split(":")[0]
        [first, Shared.text, $loads, hidden_here, Object.const_defined?(:LATER)]
      RUBY
    end
    assert_equal [true, false, true],
      %w[/one/ /one/ /two/].map { |path| ask("require('../later')", path: path) }
    {
      "socket" => /LoadError.*cannot load socket/, "./none" => /LoadError.*cannot load .\/none/,
      "../syntax" => /SyntaxError.*syntax.rb.*2/, "../broken" => /RuntimeError.*it is broken/
    }.each do |name, error|
      2.times { assert_match error, ask("require('#{name}')", path: "/one/") }
    end
  end

  # The removed methods would block the worker, or end its process.
  test "the VM has no TCPSocket, IO.popen, system, backticks or gets; File.read stays" do
    server = evaluate
    gone = [
      "TCPSocket", "UNIXSocket", "Socket", "TCPServer", "IO.popen('true')", "IO._popen('true')",
      "File.popen('true')", "open('|true')", "system('true')", "Kernel.system('true')", "`true`",
      "gets", "Kernel.gets", "readline", "readlines", "exec('true')", "fork", "exit", "exit!",
      "abort", "spawn('true')", "IO.pipe", "IO.select([])", "STDIN.gets", "$stdin.read"
    ]
    assert_empty gone.grep_v(->(code) { /\A(Name|NoMethod)Error: / === ask(code) })
    assert_equal "LOG", ask("File.read('#{server.path}')[0, 3]")
  end
end
