# frozen_string_literal: true

namespace :soak do
  programs = %w[messages sockets contexts waiting dropped]

  run = lambda do |form|
    bad = programs.reject do |name|
      sh(RbConfig.ruby, "-Ilib", "test/memory/soak/#{name}.rb", *form, verbose: false) do |ok, _|
        ok
      end
    end
    abort "rake soak: #{bad.join(", ")} not flat" if bad.any?
  end

  desc "The soak programs, a few seconds each"
  task(short: :compile) { run.call(["short"]) }

  task(long: :compile) { run.call([]) }
end

desc "Memory over ten million messages, 10,000 sockets, contexts, waits: it must not grow (three " \
  "minutes)"
task soak: "soak:long"
