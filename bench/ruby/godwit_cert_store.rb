# frozen_string_literal: true

# godwit_cert_store.rb COUNT: a directory of so many certificates. Prints seconds for its load, a
# hit and a miss, and for what they cannot do without: to read all files, and to stat one.
require "tmpdir"
require_relative "common"
require "godwit"

count = Integer(ARGV[0])
LOOKS = 2_000
def seconds
  start = Common.now
  yield
  (Common.now - start) / 1e9
end

Dir.mktmpdir do |dir|
  certs = Array.new(count) { |number| Godwit::Cert.new("user#{number}") }
  certs.each { |cert| File.write("#{dir}/#{cert.name}.key", cert.text) }
  paths = certs.map { |cert| "#{dir}/#{cert.name}.key" }
  sleep(0.2) # until the files count as unchanged
  read = seconds { paths.each { |path| File.read(path) } }
  store = nil
  load = seconds { store = Godwit::CertStore.new(dir) }
  again = seconds { store.size }
  stat = seconds { LOOKS.times { |number| File.stat(paths[number % count]) } } / LOOKS
  hit = seconds { LOOKS.times { |number| store.by_key(certs[number % count].public_key) } } / LOOKS
  strangers = Array.new(100) { Godwit::Curve.keypair.public_key }
  store.by_key(strangers[0])
  miss = seconds { LOOKS.times { |number| store.by_key(strangers[number % 100]) } } / LOOKS
  Common.say(read: read, load: load, again: again, stat: stat, hit: hit, miss: miss)
end
