# frozen_string_literal: true

require "test_helper"
require "godwit/cli"

# `godwit keygen` and `godwit cert show`.
class CLIKeygenTest < Godwit::TestCase
  def setup
    super
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
  end

  test "keygen NAME writes both files, and prints their paths and the public key" do
    status, out, err = run_line(
      "keygen", "anna", "--dir", scratch_dir, "--meta", "email=a@b", "--meta", "note=a=b"
    )
    cert = Godwit::Cert.load(path("anna.key_secret"))
    assert_equal [0, "#{path("anna.key")}\n#{path("anna.key_secret")}\n#{cert.public_key}\n", ""],
      [status, out, err]
    assert_equal ["anna", {"email" => "a@b", "note" => "a=b"}], [cert.name, cert.metadata]
    assert_equal cert.public_key, Godwit::Cert.load(path("anna.key")).public_key
    assert_equal 0o600, File.stat(path("anna.key_secret")).mode & 0o777
    assert_fails(1, "anna.key_secret: this file exists", "keygen", "anna", "--dir", scratch_dir)
  end

  test "keygen without NAME prints a secret certificate" do
    status, out, err = run_line("keygen", "--meta", "name=anna")
    assert_equal [0, ""], [status, err]
    File.write(path("x.key_secret"), out, perm: 0o600)
    cert = Godwit::Cert.load(path("x.key_secret"))
    assert_equal ["anna", true], [cert.name, cert.secret?]
    refute_equal out, run_line("keygen", "--meta", "name=anna")[1]
  end

  test "keygen writes into the working directory" do
    child = start_command(
      ["sh", "-c", "cd \"$1\" && exec \"$2\" -I\"$3/lib\" \"$3/exe/godwit\" keygen anna", "sh",
        scratch_dir, RbConfig.ruby, Dir.pwd]
    )
    result = assert_child(child.finish)
    assert_equal "./anna.key\n./anna.key_secret\n", result.stdout.lines.first(2).join
    assert_predicate Godwit::Cert.load(path("anna.key_secret")), :secret?
  end

  test "wrong command lines" do
    assert_usage_errors(
      %w[keygen anna otto] => "unexpected: otto", %w[keygen --dir .] => "--dir needs a NAME",
      %w[keygen anna --meta email] => "--meta takes KEY=VALUE", %w[keygen a/b] => "file name",
      ["keygen", "anna", "--meta", "full name=x"] => "letters, digits",
      %w[keygen anna --dri .] => "invalid option: --dri",
      %w[cert] => "type `godwit cert show FILE|DIR`",
      %w[cert shwo x] => 'did you mean "show"?', %w[cert show] => "which file or directory?",
      %w[cert show a b] => "unexpected: b"
    )
    [["\xff"], ["\xff".b], [(+"\xff").force_encoding("US-ASCII")], ["anna", "--meta", "a=\xff"]]
      .each { |words| assert_fails(2, "UTF-8", "keygen", *words, "--dir", scratch_dir) }
    assert_equal 1, run_line("keygen", "anna", "--dir", path("none"))[0]
    assert_empty Dir.children(scratch_dir)
  end

  test "cert show lists a file" do
    cert = Godwit::Cert.new("anna", metadata: {"email" => "a@b"})
    public_file, secret_file = cert.save(scratch_dir)
    text = "anna\n    public-key = #{cert.public_key}\n    email = a@b\n"
    assert_equal [0, text, ""], run_line("cert", "show", public_file)
    status, out, err = run_line("cert", "show", secret_file)
    assert_equal [0, text.sub("anna", "anna (with its secret key)"), ""], [status, out, err]
    refute_includes out, cert.keypair.secret_key
    File.chmod(0o644, secret_file)
    status, out, err = run_line("cert", "show", secret_file)
    assert_equal [1, ""], [status, err]
    assert_match(/\Aproblem: .*chmod 600/, out)
    assert_equal [1, "problem: #{path("none")}: No such file or directory\n", ""],
      run_line("cert", "show", path("none"))
  end

  # Files that pyzmq wrote can have control characters in names and values.
  test "cert show escapes control characters, and those that make one name look like another" do
    text = Godwit::Cert.new("anna", metadata: {"note" => "x\u202Ey\u2028z"}).text
    # @return [Array(Integer, String)] status and output of `cert show` for these metadata
    show = lambda do |metadata|
      File.write(path("a.key"), text.sub("metadata\n", "metadata\n    #{metadata}\n"))
      run_line("cert", "show", path("a.key")).first(2).tap { |_, out| out.force_encoding("UTF-8") }
    end
    out = show.call("name = \"an\u200Bna\"\n    tab = a\tb").last
    ["an\\u200Bna\n", "note = x\\u202Ey\\u2028z\n", "tab = a\\tb"].each do |shown|
      assert_includes out, shown
    end
    status, out = show.call("name = a\tb")
    assert_equal 1, status
    assert_match(/a name that is not/, out)
  end

  test "cert show lists a directory and its problems" do
    anna = Godwit::Cert.new("anna")
    anna.save(scratch_dir)
    Godwit::Cert.new("otto").save_public(scratch_dir)
    status, out, err = run_line("cert", "show", scratch_dir)
    assert_equal [0, ""], [status, err]
    assert_equal ["anna", "otto", "anna (with its secret key)"],
      out.lines(chomp: true).grep_v(/\A /)
    FileUtils.cp(path("anna.key"), path("bob.key"))
    File.write(path("bad.key"), "nothing\n")
    File.chmod(0o644, path("anna.key_secret"))
    status, out, err = run_line("cert", "show", scratch_dir)
    assert_equal [1, ""], [status, err]
    assert_equal 3, out.scan(/^problem: /).size, out
    ["bad.key, line 1", "bob.key: it has the same key as anna.key", "chmod 600"].each do |words|
      assert_includes out, words
    end
  end
end
