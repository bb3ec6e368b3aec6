# frozen_string_literal: true

# A child process has the server, so that its descriptors, threads and memory can be counted.
module AuthServerProcess
  # The size from which glibc maps a block by itself. Unless it is set, glibc raises it when a large
  # frame is freed; later frames then leave gaps in the heap, and RSS grows without a leak.
  FIXED_THRESHOLD = {"MALLOC_MMAP_THRESHOLD_" => "131072"}.freeze

  SERVER = <<~'RUBY'
    require "godwit"
    Godwit.warn_refused = false # its thread and descriptors are no leak
    KEYS = Godwit::Curve.keypair
    ANNA = Godwit::Curve.keypair
    OPTIONS = {auth: "test", handshake_timeout: 1}
    GUARD = Godwit::Auth.new(timeout: 0.2, workers: 2)
    STATUS = Queue.new
    WAKE_UPS = 5
    GUARD.on_decision { |decision| STATUS << [decision.mechanism, decision.status] }

    def serve(**options)
      rep = Godwit::REP.bind("tcp://127.0.0.1:*", **OPTIONS, **options)
      Thread.new { rep.serve(messages: true) { |message| message.user_id || "nobody" } }
      rep
    end

    def client(rep, **options)
      Godwit::REQ.connect(
        rep.last_endpoint, linger: Godwit::Context::BRIEF_LINGER, reconnect_interval: 0.02,
        **options
      )
    end

    def known(rep) = client(rep, curve: ANNA, server_key: KEYS.public_key)

    # A legitimate client, from its connection to its reply.
    def served(rep)
      req = known(rep)
      answer = req.send("who am I?").recv(timeout: HANG)
      abort "served as #{answer}" unless answer == "anna"
    ensure
      req&.close
    end

    def memory = File.read("/proc/self/status")[/VmRSS:\s+(\d+)/, 1].to_i

    # Descriptors, threads and memory (KiB), once what was closed has gone.
    def facts
      3.times { collect_garbage }
      [descriptors, Thread.list.size, memory]
    end

    def back_to(before, threads: before[1], slack: 40_000)
      # The extension keeps a few wake-ups of threads that waited at once.
      await(deadline: HANG) { descriptors <= before[0] + WAKE_UPS }
      await(deadline: HANG) { Thread.list.size <= threads }
      await(deadline: HANG) { collect_garbage || facts[2] <= before[2] + slack }
    rescue StandardError
      abort "before: #{before}, after: #{facts}"
    end

    def until_idle = Thread.pass until STATUS.empty?
  RUBY

  # Runs the source after SERVER; the block gets the child while it runs.
  def assert_server(source)
    skip "it counts in /proc" unless File.directory?("/proc/self/fd")
    skip "this libzmq has no CURVE" unless Godwit.has?(:curve)
    child = start_child("#{SERVER}\n#{source}\nputs 'done'", env: FIXED_THRESHOLD, deadline: 110)
    yield child if block_given?
    result = assert_child(child.finish)
    assert_includes result.stdout, "done"
    result
  end
end
