# frozen_string_literal: true

require_relative "../support/ports"

# A Markdown page and the Ruby examples in it.
class Page
  # A fenced block. `reason`: why the block is not run, or nil. `needs`: "draft" (a libzmq with
  # drafts), "network" (a network of its own), "mruby" (runs on mruby), "edge" (an app) or nil.
  # `beside`: a child process runs the block while the next block runs, as a server and its client.
  Example = Struct.new(:page, :line, :source, :reason, :needs, :beside) do
    def name = "#{page} line #{line}"
  end

  ROOT = File.expand_path("../..", __dir__)
  FENCE = /^```ruby\n(.*?)^```$/m
  EXCUSE = /<!-- not run: (.+?) -->\s*\z/
  NEEDS = /<!-- needs: (draft|network|mruby|edge) -->\s*\z/
  BESIDE = /<!-- runs beside the next example -->\s*\z/
  # A line `expression # => value; words` promises the value, which the run of the example checks.
  PROMISE = /^(?<code>\s*\S.*?)\s+# => (?<value>.+?)(?:; .*)?$/
  PORT = /(?<=127\.0\.0\.1:|\*:)\d{4,5}\b/

  # @return [Array<Page>] README.md, docs/*.md and work/docs/*.md
  def self.all
    ["README.md", *Dir.glob("{docs,work/docs}/*.md", base: ROOT).sort].map { |path| new(path) }
  end

  attr_reader :path

  def initialize(path)
    @path = path
  end

  def text = @text ||= File.read(File.join(ROOT, path), encoding: "UTF-8")

  def examples
    text.enum_for(:scan, FENCE).map do
      match = Regexp.last_match
      Example.new(path, match.pre_match.count("\n") + 2, match[1], match.pre_match[EXCUSE, 1],
        match.pre_match[NEEDS, 1], match.pre_match.match?(BESIDE))
    end
  end

  # @return [Example] the example that starts at this line
  def example(line)
    examples.find { |one| one.line == line } or abort "no example at #{path}:#{line}"
  end

  # @return [Array<Example>] the examples that run beside this example, each in a child process
  def beside(example)
    examples.take_while { |one| one.line < example.line }.reverse.take_while(&:beside).reverse
  end

  # @return [Hash{String => String}] a port in these examples => a free port
  def self.ports(examples)
    ports = examples.flat_map { |one| one.source.scan(PORT) }.uniq
    first = Godwit::TestSupport::Ports.free(ports.size)
    ports.each_with_index.to_h { |port, index| [port, (first + index).to_s] }
  end

  # The program of an example. It checks the example's promises. Free ports replace the fixed ones,
  # so that two concurrent runs do not conflict.
  def self.program(example, free = ports([example]))
    source = example.source.gsub(PORT, free)
    lines = source.lines.each.with_index(example.line)
    lines.map { |line, number| line.sub(PROMISE) { checked($~[:code], $~[:value], number) } }.join
  end

  # @return [String] Ruby code that returns the value of `code`, and raises if it is not `promised`
  def self.checked(code, promised, line)
    same, promise = "got == promised", promised
    same, promise = "got.inspect == promised", promised.dump if promised.start_with?("#<")
    text = "line #{line} promises #{promised}, and it is "
    "[(#{code}), (#{promise})].then { |got, promised| (#{same}) ? got : " \
      "raise(#{text.dump} + got.inspect) }"
  end
end
