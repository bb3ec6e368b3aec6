# frozen_string_literal: true

require "yaml"

# A test that no fault of the product makes fail is worth nothing.
desc "Break the product as test/faults.yml says, one fault after the other, in a copy of the " \
  "last commit: each stage that is named there must fail"
task :faults, [:only] do |_, arguments|
  copy = File.expand_path("tmp/faults")
  rm_rf copy, verbose: false
  sh "git", "clone", "-q", ".", copy, verbose: false
  %w[vendor .bundle].each { |folder| cp_r(folder, copy, verbose: false) if File.directory?(folder) }
  faults = YAML.load_file("#{copy}/test/faults.yml")
  unseen = faults.reject do |name, fault|
    next true if arguments[:only] && !name.include?(arguments[:only])
    path = File.join(copy, fault.fetch("file"))
    whole = File.read(path)
    unless whole.scan(fault.fetch("lines")).one?
      abort "#{name}: #{fault["file"]} has no such lines any more"
    end
    File.write(path, whole.sub(fault["lines"]) { fault.fetch("instead") })
    stages = fault.fetch("stages").split(", ")
    told =
      Bundler.with_unbundled_env do
        IO.popen(["bin/test", *stages, {chdir: copy, err: %i[child out]}], &:read)
      end
    File.write(path, whole)
    left =
      Dir["/proc/[0-9]*/cwd"].select do |cwd|
        File.readlink(cwd).start_with?(copy)
      rescue
        false
      end # standard:disable Style/RescueModifier
    left.each { |cwd| Process.kill(:KILL, cwd[/\d+/].to_i) } # a fault may leave daemons behind
    found = told[/^Failed:\n.*/m].to_s.scan(/^  \[(.+?)\] (\S+)/).uniq
    puts "#{name}: found " \
      "by #{found.size}: #{found.first(3).map { |stage, test| "[#{stage}] #{test}" }.join(" ")}"
    (stages - found.map(&:first)).empty?
  end
  abort "not found: #{unseen.keys.join(", ")}" if unseen.any?
end
