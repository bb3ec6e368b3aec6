# frozen_string_literal: true

# The first words of an installed gem: run with the folder that has it, and the expected backend.
require "godwit"
pull = Godwit::PULL.bind("tcp://127.0.0.1:*")
push = Godwit::PUSH.connect(pull.last_endpoint)
push << "one way"
said = pull.recv(timeout: 5)
rep = Godwit::REP.bind("tcp://127.0.0.1:*")
server = Thread.new { rep.send(rep.recv.reverse) }
answer = Godwit::REQ.connect(rep.last_endpoint) { |req| req.request("first words", timeout: 5) }
server.join
abort "wrong: #{[said, answer].inspect}" unless [said, answer] == ["one way", "sdrow tsrif"]
home, backend = ARGV
abort "BACKEND is #{Godwit::BACKEND}" unless Godwit::BACKEND.to_s == backend
strangers = $LOADED_FEATURES.grep(%r{/godwit[/.]}).reject { |path| path.start_with?(home) }
abort "loaded from elsewhere: #{strangers.join(" ")}" unless strangers.empty?
abort "the extension needs no ffi" if backend == "native" && defined?(::FFI)
puts "PUSH and PULL, REQ and REP understand each other, #{backend} on #{RUBY_ENGINE} " \
  "#{RUBY_VERSION}, from #{home}"
