# frozen_string_literal: true

require_relative "guide_case"

# examples/guide/clone: a client gets a snapshot of the server's keys, then each later change.
class GuideCloneTest < GuideCase
  HEARTBEAT = 0.1

  test "late joiners hold the same state as early ones, and miss no change" do
    start_server
    early = client(3000)
    early.wait_for("snapshot: 0 keys, change 0\n")
    write("600*/a=x", "400*/b=y")
    early.wait_for("1000: ")

    late = Array.new(3) { client(3000) } # these clients start while changes arrive
    write("500*/a=x", "500*/c=z")
    late.each { |child| child.wait_for(/^snapshot: .*\n/) }
    write("999*/b=y", "/c=")

    copy = "copy: /a=x-500 /b=y-999"
    said = lines(early)
    assert_equal (1..3000).to_a, numbers(said)
    assert_equal copy, said.last
    late.each do |child|
      said = lines(child)
      assert_equal copy, said.last
      assert_equal ((said.first[/change (\d+)/, 1].to_i + 1)..3000).to_a, numbers(said)
      assert_equal 1, said.grep(/\Asnapshot/).size
    end
    assert_equal "3000 changes, 2 keys", interrupt(@server).last
  end

  test "a subtree" do
    start_server
    write("/fruit/apple=red", "/tool/saw=sharp")
    child = client(4, "/fruit/")
    child.wait_for("snapshot: 1 keys, change 2\n")
    write("/tool/axe=blunt", "/fruit/pear=green")
    assert_equal ["4: /fruit/pear is green", "copy: /fruit/apple=red /fruit/pear=green"],
      lines(child).last(2)
    interrupt(@server)
  end

  test "a key with a time to live disappears everywhere when that is over" do
    start_server
    child = client(4)
    child.wait_for("snapshot: ")
    # A malformed message changes nothing. A change without a TTL removes the key's TTL.
    open_socket(:DEALER).connect(@snapshots) << "?" << ["ICANHAZ?"]
    open_socket(:PUB).connect(@collector).wait_connected(timeout: 30) << "?" <<
      ["/news", packed(0), "", "ttl=1\n", "old"] << ["/news", packed(0), "", "", "new"]
    write("/mark=x", env: {"TTL" => "2"})
    assert_equal ["3: /mark is x", "4: /mark is gone", "copy: /news=new"], lines(child).last(3)
    assert_equal "4 changes, 1 keys", interrupt(@server).last
  end

  test "a client that has lost changes takes a new snapshot" do
    snapshots = open_socket(:ROUTER).bind("tcp://127.0.0.1:*")
    updates = open_socket(:PUB).bind("tcp://127.0.0.1:*")
    child = example("clone/client", snapshots.last_endpoint, updates.last_endpoint, 5)
    updates.wait_connected(count: 2, timeout: 30) # the client subscribes to "" and to "HUGZ"
    updates << ["HUGZ", packed(0), "", "", ""]
    give_snapshot(snapshots, {"/a" => "1"}, 1)
    updates << ["/a", packed(1), "", "", "1"] << ["/a", packed(2), "", "", "2"] <<
      ["/c", packed(4), "", "", "4"]
    give_snapshot(snapshots, {"/a" => "2", "/b" => "3", "/c" => "4"}, 4)
    updates << ["/b", packed(5), "", "", ""]
    assert_equal [
      "snapshot: 1 keys, change 1", "2: /a is 2", "snapshot: 3 keys, change 4", "5: /b is gone",
      "copy: /a=2 /c=4"
    ], lines(child)
  end

  private

  def packed(number) = [number].pack("Q>")

  def give_snapshot(router, values, number)
    client, *request = router.recv(timeout: 30)
    assert_equal ["ICANHAZ?", ""], request
    values.each { |key, value| router << [client, key, packed(0), "", "", value] }
    router << [client, "KTHXBAI", packed(number), "", "", ""]
  end

  def start_server
    @server = example("clone/server", *["tcp://127.0.0.1:*"] * 3, HEARTBEAT)
    @snapshots, @updates, @collector = endpoints(@server)
  end

  def client(last, *rest) = example("clone/client", @snapshots, @updates, last, *rest)

  def write(*changes, env: {}) = lines(example("clone/writer", @collector, *changes, env: env))

  def numbers(lines) = lines.filter_map { |line| line[/\A(\d+): /, 1]&.to_i }
end
