# frozen_string_literal: true

desc "One million random and mutated inputs for the ZPL reader, and one million for the ZAP " \
  "parser (SEED=1 repeats a run, COUNT=1000 is shorter)"
task fuzz: :compile do
  program = <<~'RUBY'
    require "./test/auth/fuzz"
    seed, count = ARGV.map { |text| Integer(text) }
    Fuzz::TARGETS.each_key do |name|
      puts "#{name}: #{count} inputs, seed #{seed}: #{Fuzz.run(name, count, seed)}"
    end
  RUBY
  seed = ENV.fetch("SEED") { rand(1 << 30).to_s }
  sh RbConfig.ruby, "-Ilib", "-e", program, seed, ENV.fetch("COUNT", "1000000"), verbose: false
end
