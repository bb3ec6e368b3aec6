# frozen_string_literal: true

require "test_helper"
require "pathname"

# Certificates and their files.
class CertTest < Godwit::TestCase
  def setup
    super
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
  end

  def mode(path) = File.stat(path).mode & 0o7777

  def write(name, text, mode: 0o600)
    File.binwrite(path(name), text)
    File.chmod(mode, path(name))
    path(name)
  end

  def refused(klass = Godwit::CertError, words = //)
    error = assert_raises(klass) { yield }
    assert_kind_of Godwit::Error, error
    assert_match words, error.message
    error
  end

  def test_files_whose_names_are_not_UTF_8_have_no_user_id
    not_on :jruby, "Java's names of files are text"
    text = Godwit::Cert.new("anna").text
    ["\xff", "\xfe"].each do |name|
      bad = write("#{name}.key".b, text)
      refused(Godwit::CertError, /not 1 to 255 bytes of UTF-8/) { Godwit::Cert.load(bad) }
      write("#{name}.key".b, "metadata\n    name = \"otto\"\n#{text}")
      assert_equal "otto", Godwit::Cert.load(bad).name
    end
  end

  def test_the_name_of_the_folder_may_have_any_bytes
    not_on :jruby, "Java's names of files are text"
    ["\xff", "\xfe".b, "\u00e9"].each do |name|
      Dir.mkdir(folder = "#{scratch_dir}/#{name}")
      Godwit::Cert.new("\u00e9").save(folder)
      assert_equal ["\u00e9"], Godwit::CertStore.new(folder).map(&:name)
    end
  end

  def test_a_byte_order_mark_is_read_over
    cert = Godwit::Cert.new("anna")
    paths = cert.save(scratch_dir)
    paths.each { |path| File.binwrite(path, "\uFEFF".b + File.binread(path)) }
    assert_equal cert, Godwit::Cert.load(paths.last)
    assert_equal "anna", Godwit::CertStore.new(scratch_dir).by_key(cert.public_key).name
    # This file has no comment at its head: the mark stands right before the section's name. The
    # command-line option `--keys` reads such files by Files.read.
    File.binwrite(paths.first, "\uFEFFcurve\n    public-key = \"#{cert.public_key}\"\n")
    assert_equal cert.public_key, Godwit::Cert.load(paths.first).public_key
    text, = Godwit::Cert::Files.read(paths.first) { false }
    assert text.start_with?("curve")
  end

  def test_save_writes_both_files_and_load_reads_them
    cert = Godwit::Cert.new("anna", metadata: {"email" => "a@b"})
    paths = cert.save(scratch_dir)
    assert_equal [path("anna.key"), path("anna.key_secret")], paths
    assert_equal [0o644 & ~File.umask, 0o600], paths.map { |file| mode(file) }
    refute_includes File.read(paths[0]), cert.keypair.secret_key
    found = [paths[1], Pathname(paths[0])].map { |file| Godwit::Cert.load(file) }
    assert_equal cert, found.first
    assert_equal [[true, cert.keypair], [false, nil]],
      found.map { |one| [one.secret?, one.keypair] }
    assert_equal [["anna", {"email" => "a@b"}, cert.public_key]],
      found.map { |one| [one.name, one.metadata, one.public_key] }.uniq
    assert_equal %w[anna.key anna.key_secret], Dir.children(scratch_dir).sort
  end

  def test_a_certificate_of_given_keys
    pair = Godwit::Curve.keypair
    assert_equal pair, Godwit::Cert.new("a", keypair: pair).keypair
    only = Godwit::Cert.new("a", public_key: pair.raw_public_key)
    assert_equal [pair.public_key, false], [only.public_key, only.secret?]
    assert_equal ["a.key"], only.save(scratch_dir).map { |file| File.basename(file) }
    [
      [Godwit::ArgumentValueError, /public_key:/,
        {keypair: pair, public_key: Godwit::Curve.keypair.public_key}],
      [Godwit::CurveKeyError, //, {public_key: "x"}],
      [Godwit::ArgumentValueError, //, {public_key: nil}],
      [Godwit::ArgumentTypeError, /keypair:/, {keypair: pair.secret_key}]
    ].each do |error, words, keys|
      found = refused(error, words) { Godwit::Cert.new("a", **keys) }
      refute_includes found.message, pair.secret_key
    end
  end

  def test_the_name_comes_from_the_metadata_or_else_from_the_file
    cert = Godwit::Cert.new("anna")
    cert.save(scratch_dir)
    File.rename(path("anna.key"), path("otto.key"))
    assert_equal "otto", Godwit::Cert.load(path("otto.key")).name
    named = Godwit::Cert.new(metadata: {"name" => "Anna B."})
    assert_equal "Anna B.", named.name
    named.save_public(scratch_dir)
    File.rename(path("Anna B..key"), path("x.key"))
    assert_equal "Anna B.", Godwit::Cert.load(path("x.key")).name
    refused(Godwit::ArgumentValueError, /another name/) do
      Godwit::Cert.new("otto", metadata: {"name" => "anna"})
    end
    assert_nil Godwit::Cert.new.name
  end

  def test_names_that_cannot_be
    ["", "a\0b", "a\nb", "a" * 256, :anna, "\xff", 5].each do |name|
      refused(Godwit::ArgumentValueError, /the name/) { Godwit::Cert.new(name) }
    end
    ["a/b", ".a", "../a"].each do |name|
      refused(Godwit::ArgumentValueError, /file name/) { Godwit::Cert.new(name).save(scratch_dir) }
    end
    refused(Godwit::ArgumentValueError, /file name/) { Godwit::Cert.new.save(scratch_dir) }
    assert_empty Dir.children(scratch_dir)
  end

  def test_metadata_that_cannot_be_written_is_refused_at_once
    [{"a b" => "x"}, {"a" => "\"'"}, {"a" => "x\n"}, {"a" => 5}, {a: "x"}].each do |metadata|
      refused(Godwit::ArgumentValueError, /metadata:/) do
        Godwit::Cert.new("a", metadata: metadata)
      end
    end
    refused(Godwit::ArgumentTypeError, /metadata:/) { Godwit::Cert.new("a", metadata: "x") }
  end

  def test_an_existing_file_stays_unless_replace_is_given
    Godwit::Cert.new("anna").save(scratch_dir)
    before = File.read(path("anna.key"))
    second = Godwit::Cert.new("anna")
    refused(Godwit::CertError, /anna\.key_secret.*exists.*replace:/) { second.save(scratch_dir) }
    refused(Godwit::CertError, /anna\.key: .*exists/) { second.save_public(scratch_dir) }
    File.unlink(path("anna.key_secret"))
    refused(Godwit::CertError, /anna\.key: .*exists/) { second.save(scratch_dir) }
    assert_equal ["anna.key"], Dir.children(scratch_dir), "the secret file of the failed call"
    assert_equal before, File.read(path("anna.key"))
    second.save(scratch_dir, replace: true)
    assert_equal second, Godwit::Cert.load(path("anna.key_secret"))
    assert_equal second.public_key, Godwit::Cert.load(path("anna.key")).public_key
  end

  def test_a_failed_replacement_leaves_the_old_pair
    first = Godwit::Cert.new("anna")
    first.save(scratch_dir)
    write(".anna.key.taken", "")
    names = %w[free taken]
    SecureRandom.stub(:hex, ->(_) { names.shift }) do
      refused { Godwit::Cert.new("anna").save(scratch_dir, replace: true) }
    end
    assert_equal first, Godwit::Cert.load(path("anna.key_secret"))
    assert_equal %w[anna.key anna.key_secret], Dir.children(scratch_dir).sort
    File.unlink(path("anna.key"))
    Dir.mkdir(path("anna.key"))
    refused(Godwit::CertError, /anna\.key: it is a directory/) do
      Godwit::Cert.new("anna").save(scratch_dir, replace: true)
    end
    assert_equal first, Godwit::Cert.load(path("anna.key_secret"))
  end

  def test_a_link_is_no_way_to_overwrite_another_file
    write("victim", "precious")
    File.symlink(path("victim"), path("anna.key_secret"))
    refused(Godwit::CertError, /exists/) { Godwit::Cert.new("anna").save(scratch_dir) }
    Godwit::Cert.new("anna").save(scratch_dir, replace: true)
    assert_equal "precious", File.read(path("victim"))
    assert_equal 0o600, mode(path("anna.key_secret"))
  end

  def test_what_is_no_file_is_refused_at_once
    refused(Godwit::CertError, /No such file.*mkdir/) { Godwit::Cert.new("a").save(path("none")) }
    File.mkfifo(path("anna.key_secret"), 0o600)
    {
      path("none.key") => /No such file/, scratch_dir => /directory/,
      path("anna.key_secret") => /anna\.key_secret: it is no regular file/,
      path("a\e[2J.key") => /a\?\[2J\.key/
    }.each do |file, words|
      ended(in_thread { refused(Godwit::CertError, words) { Godwit::Cert.load(file) } })
    end
    [nil, "a\0b"].each do |odd|
      refused(Godwit::ArgumentTypeError, /path/) { Godwit::Cert.load(odd) }
    end
  end

  def test_a_secret_file_that_others_may_read_is_refused_with_the_command
    secret = Godwit::Cert.new("anna").save(scratch_dir)[1]
    of_root = File.stat(secret).uid.zero? # root's secret file may be readable by its group
    [0o644, 0o604, 0o660, 0o620, 0o610, 0o602, *(0o640 unless of_root)].each do |mode|
      File.chmod(mode, secret)
      refused(Godwit::CertError, /chmod 600 #{Regexp.escape(secret)}.*pyzmq/) do
        Godwit::Cert.load(secret)
      end
    end
    [0o600, 0o400, *([0o640, 0o440] if of_root)].each do |mode|
      File.chmod(mode, secret)
      assert_predicate Godwit::Cert.load(secret), :secret?
    end
  end

  def test_only_root_may_let_a_group_read
    skip "only root can give files away" unless Process.euid.zero?
    secret = Godwit::Cert.new("anna").save(scratch_dir)[1]
    File.chown(65_534, nil, secret)
    File.chmod(0o640, secret)
    refused(Godwit::CertError, /chmod 600/) { Godwit::Cert.load(secret) }
    File.chmod(0o600, secret)
    assert_predicate Godwit::Cert.load(secret), :secret?
  end

  def test_malformed_files_are_refused_with_file_and_line_and_without_a_key
    pair = Godwit::Curve.keypair
    other = Godwit::Curve.keypair
    {
      "metadata\n    name = x\n" => /line 1: has no public-key/,
      "curve\n    public-key = \"short\"\n" => /line 2: has a public-key that is not 40/,
      "# no public-key yet\ncurve\n    public-key = \"short\"\n" => /line 3: has a public-key/,
      "curve\n    secret-key = \"#{pair.secret_key[0, 39]}~\"\n" => /line 2: has a secret-key/,
      "curve\n    public-key = '#{other.public_key}'\n    secret-key = '#{pair.secret_key}'\n" =>
        /line 3: .*not that of its public-key/,
      "curve\n    secret-key = \"#{pair.secret_key}\n" => /line 2: lacks the closing/,
      "#{pair.secret_key}\n" => /line 1/,
      "metadata\n    name = \"\"\ncurve\n    public-key = \"#{pair.public_key}\"\n" => /a name/,
      "x" * 70_000 => /longer than 65536/
    }.each do |text, words|
      file = write("bad.key", text)
      error = refused(Godwit::CertError, words) { Godwit::Cert.load(file) }
      assert_includes error.message, file
      [pair, other].each do |keys|
        refute_includes error.message, keys.secret_key[0, 30]
        refute_includes error.message, keys.public_key[0, 30]
      end
    end
  end

  def test_a_secret_key_alone_gives_the_public_one_and_one_of_zeros_is_none
    pair = Godwit::Curve.keypair
    file = write("a.key_secret", "curve\n    secret-key = '#{pair.secret_key}'\n")
    assert_equal ["a", pair], Godwit::Cert.load(file).then { |cert| [cert.name, cert.keypair] }
    # CZMQ's zcert_save writes zeros when a certificate has no secret key.
    write("a.key_secret",
      "curve\n    public-key = \"#{pair.public_key}\"\n    secret-key = \"#{"0" * 40}\"\n")
    assert_equal [pair.public_key, false],
      Godwit::Cert.load(file).then { |cert| [cert.public_key, cert.secret?] }
  end

  def test_the_secret_never_shows
    cert = Godwit::Cert.new("anna")
    [cert.inspect, cert.to_s, cert.keypair.inspect].each do |text|
      refute_includes text, cert.keypair.secret_key
      assert_includes text, cert.public_key
    end
    assert_predicate cert, :frozen?
    assert_predicate cert.metadata, :frozen?
  end

  def test_what_godwit_cannot_write_it_reads_and_does_not_save
    key = Godwit::Curve.keypair.public_key
    file = write("a.key", "metadata\n    full name = A\ncurve\n    public-key = \"#{key}\"\n")
    cert = Godwit::Cert.load(file)
    assert_equal({"full name" => "A"}, cert.metadata)
    refused(Godwit::ArgumentValueError, /full name/) { cert.save_public(path("none")) }
  end

  # Runs a child again and again, and kills it at its first call on a file, then at its second, and
  # so on. Each file that a killed child leaves must be whole.
  def test_a_killed_writer_leaves_a_whole_file_or_none
    skip "on JRuby a TracePoint sees no such calls" if RUBY_ENGINE == "jruby"
    program = <<~RUBY
      require "godwit"
      dir, count = ARGV
      point = Integer(count)
      calls = 0
      trace = TracePoint.new(:c_call) do |tp|
        next unless %i[open initialize write fsync link rename unlink].include?(tp.method_id)
        next unless tp.path.end_with?("files.rb")
        Process.kill(:KILL, $$) && sleep if (calls += 1) == point
      end
      cert = Godwit::Cert.new("anna")
      trace.enable { cert.save(dir) }
      puts "whole"
    RUBY
    whole = (1..40).find do |point|
      dir = File.join(scratch_dir, point.to_s)
      Dir.mkdir(dir)
      result = run_child(program, [dir, point])
      Dir.children(dir).each do |name|
        file = File.join(dir, name)
        assert_equal 0, mode(file) & 0o077, file if name.include?("secret")
        Godwit::Cert.load(file) unless name.start_with?(".")
      end
      result.success?
    end
    assert_operator whole, :>, 5, "the writer was never killed"
  end
end
