# frozen_string_literal: true

require "test_helper"

# CertStore: a directory of certificates, also when its files change.
class CertStoreTest < Godwit::TestCase
  def setup
    super
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
  end

  def cert(name, **options)
    Godwit::Cert.new(name, **options).tap { |one| one.save_public(scratch_dir) }
  end

  def store = Godwit::CertStore.new(scratch_dir)

  # @return [String] the warnings that the block prints
  def warnings(&block) = capture_io(&block).last

  def test_finds_certificates_by_name_and_key
    anna = cert("anna", metadata: {"email" => "a@b"})
    otto = cert("otto")
    Godwit::Cert.new("server").save(scratch_dir)
    File.unlink(path("server.key")) # server.key_secret remains; the store ignores it
    found = store
    assert_equal %w[anna otto], found.map(&:name)
    assert_equal [2, 2, scratch_dir], [found.size, found.each.size, found.dir]
    assert_equal({"email" => "a@b"}, found["anna"].metadata)
    keys = [otto.public_key, Godwit::Z85.decode(anna.public_key)]
    assert_equal %w[otto anna], keys.map { |key| found.by_key(key).name }
    assert_equal [nil, nil], [found["nobody"], found.by_key(Godwit::Curve.keypair.public_key)]
    assert_raises(Godwit::CurveKeyError) { found.by_key("x") }
    assert_equal found, found.each {}
  end

  def test_a_removed_file_is_gone_at_once
    anna = cert("anna")
    found = store
    assert found.by_key(anna.public_key)
    File.unlink(path("anna.key"))
    assert_equal [nil, nil], [found.by_key(anna.public_key), found["anna"]]
  end

  def test_a_changed_file_counts_at_once
    before = cert("anna", metadata: {"role" => "user"})
    found = store
    assert_equal "user", found["anna"].metadata["role"]
    10.times do |round|
      after = Godwit::Cert.new("anna", metadata: {"role" => "r#{round}"})
      # The store must detect the change by the file's times: inode and size stay the same.
      File.write(path("anna.key"), after.text)
      assert_equal "r#{round}", found["anna"].metadata["role"]
      assert_nil found.by_key(before.public_key)
      assert_equal "anna", found.by_key(after.public_key).name
      before = after
    end
  end

  def test_after_a_miss_the_directory_is_read_again_at_most_once_a_second
    with_clock do |clock|
      found = store
      anna = cert("anna")
      assert_nil found.by_key(anna.public_key), "read a moment ago"
      clock.advance(1)
      assert_equal "anna", found.by_key(anna.public_key).name
      otto = cert("otto")
      assert_nil found.by_key(otto.public_key)
      assert_nil found["otto"]
      clock.advance(1)
      assert_equal "otto", found["otto"].name
    end
  end

  def test_the_first_file_of_a_key_counts_and_the_store_warns_once
    anna = cert("bob")
    FileUtils.cp(path("bob.key"), path("anna.key"))
    found = nil
    said = warnings { found = store }
    assert_match(/bob\.key: it has the same key as anna\.key/, said)
    assert_equal 1, said.lines.size
    assert_empty warnings { assert_equal "anna", found.by_key(anna.public_key).name }
    assert_equal [1, 1], [found.size, found.problems.size]
    File.unlink(path("anna.key"))
    assert_equal "bob", found.by_key(anna.public_key).name
    refute_includes said, anna.public_key
  end

  def test_files_that_are_no_certificate_are_left_out
    cert("anna")
    %w[bad.key notes.txt].each { |name| File.write(path(name), "no certificate at all\n") }
    Dir.mkdir(path("folder.key"))
    File.write(path("open.key"), Godwit::Cert.new("open").text(secret: true), perm: 0o644)
    File.symlink("nowhere", path("dangling.key"))
    found = nil
    said = warnings { found = store }
    assert_equal ["anna"], found.map(&:name)
    ["bad.key, line 1:", "folder.key: it is no regular file", "open.key: others may read"]
      .each { |words| assert_includes said, words }
    assert_equal [3, 3], [said.lines.size, found.problems.size], said
    assert_empty warnings { found.problems }
    File.write(path("bad.key"), Godwit::Cert.new("bad").text)
    assert_equal %w[anna bad], found.map(&:name)
  end

  def test_a_missing_directory
    error = assert_raises(Godwit::CertError) { Godwit::CertStore.new(path("none")) }
    assert_match(/none: No such file/, error.message)
    file = Godwit::Cert.new("x").save_public(scratch_dir)
    assert_raises(Godwit::CertError) { Godwit::CertStore.new(file) }
    assert_raises(Godwit::ArgumentTypeError) { Godwit::CertStore.new(5) }
    found = store
    FileUtils.remove_entry(scratch_dir)
    assert_raises(Godwit::CertError) { found.size }
    Dir.mkdir(scratch_dir)
    assert_equal 0, found.size
  end

  # Makes each open of this file raise the error while the block runs.
  def failing(file, error, &block)
    original = File.method(:open)
    open = lambda do |path, *rest, **options, &use|
      raise error if File.basename(path) == file
      original.call(path, *rest, **options, &use)
    end
    File.stub(:open, open, &block)
  end

  def test_a_transient_error_of_a_file_raises_and_is_not_kept
    anna = cert("anna")
    with_clock do |clock|
      found = nil
      said = warnings { failing("anna.key", Errno::EMFILE) { found = store } }
      assert_match(/anna\.key: Too many open files/, said)
      2.times { assert_raises(Godwit::CertError) { found.by_key(anna.public_key) } }
      clock.advance(1)
      assert_equal "anna", found.by_key(anna.public_key).name
      assert_empty found.problems
      assert_nil found["otto"]
    end
  end

  def test_a_known_file_that_fails_to_open_once_counts_at_the_next_lookup
    cert("anna")
    found = store
    again = Godwit::Cert.new("anna").tap { |one| one.save_public(scratch_dir, replace: true) }
    failing("anna.key", Errno::EIO) do
      assert_match(/anna\.key: Input/, assert_raises(Godwit::CertError) { found["anna"] }.message)
    end
    assert_equal again.public_key, found["anna"].public_key
  end

  def test_a_file_that_cannot_be_opened_leaves_the_others_working
    anna = cert("anna")
    File.symlink("loop.key", path("loop.key"))
    File.symlink("x" * 300, path("long.key"))
    cert("secret")
    failing("secret.key", Errno::EACCES) do
      with_clock do |clock|
        found = nil
        said = warnings { found = store }
        assert_equal 3, said.lines.size, said
        assert_equal "anna", found.by_key(anna.public_key).name
        assert_nil found["nobody"]
        clock.advance(1)
        assert_nil found["nobody"]
        ["loop.key: Too many levels", "long.key: File name too long", "secret.key: Permission"]
          .each { |words| assert(found.problems.any? { |problem| problem.include?(words) }, words) }
        assert_equal ["anna"], found.map(&:name)
      end
    end
    warnings { assert_equal %w[anna secret], store.map(&:name) }
  end

  def test_a_directory_that_cannot_be_read_is_tried_once_a_second
    found = store
    with_clock do |clock|
      clock.advance(1)
      scans = 0
      Dir.stub(:children, ->(*) { (scans += 1) && raise(Errno::EMFILE) }) do
        3.times { assert_raises(Godwit::CertError) { found["anna"] } }
        assert_equal 1, scans
        clock.advance(1)
        assert_raises(Godwit::CertError) { found["anna"] }
        assert_equal 2, scans
      end
      clock.advance(1)
      assert_nil found["anna"]
    end
  end
end
